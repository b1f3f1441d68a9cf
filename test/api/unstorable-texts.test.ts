/** Texts that PostgreSQL cannot store, in every place of the body of every endpoint. */
import { expect } from 'chai';
import { endpointsFor } from '../../api/endpoints.ts';
import type { JsonObject } from '../../domain/json.ts';
import { exampleOf } from '../../simulator/text/schema-example.ts';
import { useTestApp } from '../support/app.ts';
import { document } from '../support/openapi.ts';
import { runsAll } from '../support/properties.ts';
import { makeSamples, type Samples } from '../support/samples.ts';

const UNSTORABLE = ['\ud800', '\0'];
/** What `added` puts into a field. */
const KINDS_OF_VALUES = 4;
/** The statuses of answers, of refusals, and of services that this application lacks. */
const EXPECTED = /^(?:2\d\d|4(?!29)\d\d|503)$/;

describe('a text that PostgreSQL cannot store', () => {
  const app = useTestApp({ simulatesText: true });
  let apiKey: string;
  let samples: Samples;

  before(async () => {
    const customer = await app.createAccount({ fundedUsd: 1_000 });
    ({ apiKey } = customer);
    samples = await makeSamples(app, customer);
  });

  for (const { method, path, body } of endpointsFor({ canTakePayments: false })) {
    const content = Object(body?.content['application/json']);
    if (content.schema === undefined) continue;
    it(`never causes an internal error of ${method.toUpperCase()} ${path}`, async () => {
      const sample = path === '/mcp' ? MCP_CALL : sampleOf(content);
      const target = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => samples[name] ?? DEFAULTS[name] ?? 'x');
      const key = path.startsWith('/admin') ? app.adminToken : apiKey;
      const headers = {
        authorization: `Bearer ${key}`,
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json',
        'msgfmt-version': '1',
      };
      const bodies = bodiesOf(sample, content.schema);
      const failures: string[] = [];
      for (const sent of bodies.map((one) => JSON.stringify(one))) {
        const response = await fetch(app.baseUrl + target, { method: method.toUpperCase(), headers, body: sent });
        const answer = await response.text();
        if (!EXPECTED.test(String(response.status))) failures.push(`${sent}: ${response.status} ${answer}`);
      }
      expect(failures, app.logged().slice(-2_000)).to.deep.equal([]);
    });
  }
});

const DEFAULTS: Readonly<Record<string, string>> = { model: 'texth-4-argon', upstream: 'simulator' };
const RUN = { capability: 'vidone-3.0', inputs: { prompt: 'A lighthouse' }, idempotency_key: 'k', wait_seconds: 0 };
const MCP_CALL = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'run', arguments: RUN } };

/** An example of the description, or else the smallest body that matches the schema. */
function sampleOf({ schema, examples }: { readonly schema: object; readonly examples?: object }): unknown {
  const [example] = Object.values(examples ?? {});
  return Object(example).value ?? exampleOf({ ...schema, components: document.components });
}

/**
 * A body for each place of a text. Without `--all`, places take turns with the texts, and each field gets two of the four
 * kinds of values, because each request costs time.
 */
function bodiesOf(sample: unknown, schema: unknown): unknown[] {
  const bodies = UNSTORABLE.map((text) => [...changed(sample, text), ...added(sample, schema, text)]);
  if (runsAll) return bodies.flat();
  const count = bodies[0]?.length ?? 0;
  return Array.from({ length: count }, (_, place) => place)
    .filter((place) => (place + Math.floor(place / KINDS_OF_VALUES)) % 2 === 0)
    .map((place) => bodies[Math.floor(place / 2) % UNSTORABLE.length]?.[place]);
}

/** The body with the text in place of each text in it. */
function changed(body: unknown, text: string): unknown[] {
  if (typeof body === 'string') return [text];
  if (Array.isArray(body)) return body.flatMap((item, at) => changed(item, text).map((one) => body.with(at, one)));
  return Object.entries(Object(body)).flatMap(([name, value]) =>
    changed(value, text).map((one) => ({ ...Object(body), [name]: one })),
  );
}

/** The body with the text in each field of the schema, as a text, an item, a value and a name. */
function added(body: unknown, schema: unknown, text: string): JsonObject[] {
  const values = [text, [text], { name: text }, { [text]: 'value' }];
  return fieldsOf(schema).flatMap((field) => values.map((value) => ({ ...Object(body), [field]: value })));
}

/** The names of the fields of a schema and of its alternatives. */
function fieldsOf(schema: unknown): string[] {
  const { $ref, oneOf = [], anyOf = [], properties = {} } = Object(schema);
  const referred = Object(document.components.schemas[String($ref).replace('#/components/schemas/', '')]);
  const alternatives = [...oneOf, ...anyOf, ...(referred.oneOf ?? []), ...(referred.anyOf ?? [])];
  const own = [...Object.keys(properties), ...Object.keys(referred.properties ?? {})];
  return [...new Set([...own, ...alternatives.flatMap(fieldsOf)])];
}
