import { expect } from 'chai';
import type { Endpoint } from '../../api/endpoint/endpoint.ts';
import { endpointsFor } from '../../api/endpoints.ts';
import { newId } from '../../domain/ids.ts';
import { componentOf } from '../../domain/json-schema.ts';
import { isObject, type JsonObject } from '../../domain/json.ts';
import { useTestApp } from '../support/app.ts';

/** The limits of a body. */
const ITEMS = 19_000;
const ATTEMPTS = 4;
/** Describing each of so many items takes 300 ms. */
const MOST_CPU_MS = 40;

/** The parameters of paths whose form is checked before the body. */
const VALUES: Readonly<Record<string, string>> = {
  month: '2026-10',
  account_id: newId('account'),
  key_id: newId('apiKey'),
  reconciliation_id: newId('reconciliation'),
  webhook_id: newId('webhookEndpoint'),
};

interface ListField {
  readonly endpoint: Endpoint;
  readonly path: readonly string[];
  readonly maxItems: unknown;
}

const resolved = (schema: unknown): JsonObject => {
  if (!isObject(schema)) return {};
  return componentOf(schema)?.schema ?? schema;
};

/** The lists in a schema, with the paths of their fields. */
function listsIn(given: unknown, path: readonly string[] = []): { path: readonly string[]; maxItems: unknown }[] {
  const schema = resolved(given);
  const { type, maxItems, properties } = schema;
  const variants = ['anyOf', 'oneOf', 'allOf'].flatMap((name) => {
    const listed = schema[name];
    return Array.isArray(listed) ? listed : [];
  });
  return [
    ...([type].flat().includes('array') ? [{ path, maxItems }] : []),
    ...variants.flatMap((variant) => listsIn(variant, path)),
    ...(isObject(properties)
      ? Object.entries(properties).flatMap(([name, field]) => listsIn(field, [...path, name]))
      : []),
  ];
}

const fields: readonly ListField[] = endpointsFor({ canTakePayments: false })
  .filter(({ tag, body }) => tag !== 'Text' && body !== undefined)
  .flatMap((endpoint) => {
    const json = endpoint.body?.content['application/json'];
    return listsIn(json?.['schema']).map((found) => ({ endpoint, ...found }));
  });

const nest = ([name, ...rest]: readonly string[], value: unknown): unknown =>
  name === undefined ? value : { [name]: nest(rest, value) };

describe('a list in a body', () => {
  const app = useTestApp();
  let key: string;
  before(async () => {
    ({ apiKey: key } = await app.createAccount());
    expect(fields.length).to.be.greaterThan(8);
  });

  for (const { endpoint, path, maxItems } of fields) {
    const { method, path: address, access } = endpoint;
    const name = `"${path.join('.')}" of ${method.toUpperCase()} ${address}`;
    it(`${name} has a bound`, () => {
      expect(maxItems).to.be.a('number').that.is.at.most(1_000);
    });

    for (const item of ['', 1, null, { type: 'x' }]) {
      it(`${name} with ${ITEMS} items such as ${JSON.stringify(item)} is refused at once`, async () => {
        const body = JSON.stringify(nest(path, Array(ITEMS).fill(item)));
        const url =
          app.baseUrl + address.replaceAll(/\{(\w+)\}/g, (_parameter, parameter: string) => VALUES[parameter] ?? 'x');
        const headers = {
          authorization: `Bearer ${access.startsWith('admin') ? app.adminToken : key}`,
          'content-type': 'application/json',
        };
        let best = Infinity;
        for (let attempt = 0; attempt < ATTEMPTS && best > MOST_CPU_MS; attempt += 1) {
          const before = process.cpuUsage();
          const response = await fetch(url, { method: method.toUpperCase(), headers, body });
          const { user, system } = process.cpuUsage(before);
          best = Math.min(best, (user + system) / 1_000);
          expect(response.status).to.be.within(400, 422);
        }
        expect(best).to.be.below(MOST_CPU_MS);
      });
    }
  }
});
