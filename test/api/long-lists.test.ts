import { expect } from 'chai';
import { BATCHES } from '../../domain/policy.ts';
import type { Endpoint } from '../../api/endpoint/endpoint.ts';
import { endpointsFor } from '../../api/endpoints.ts';
import { newId } from '../../domain/ids.ts';
import { componentOf } from '../../domain/json-schema.ts';
import { isObject, type JsonObject } from '../../domain/json.ts';
import { type ErrorBody, useTestApp } from '../support/app.ts';

/** Near the limit of values in a body. Joi takes 300 ms to describe so many wrong items. */
const ITEMS = ['', 1, null, true].flatMap((item) => Array(4_700).fill(item));

/** Every other refusal would name the first item. */
const REFUSED_BY_LENGTH = /accepts at most \d+ items|has more than \d+ values/;
/** The answers of fields whose values have several forms, and of the batch that is read while it arrives. */
const OTHER_REFUSALS: Readonly<Record<string, RegExp>> = {
  '/v1/moderations': /does not match any of the allowed types/,
  '/v1/messages/batches': /requests.0: A request must be|items of "requests" must be objects/,
};

/** The other fields of bodies without an example. */
const REQUIRED: Readonly<Record<string, object>> = {
  '/admin/v1/price-lists': { name: 'of-a-test' },
  '/v1/images/edits': { model: 'imagea-2.5-sunburst', prompt: 'At night' },
  '/v1/webhooks': { url: 'https://example.com' },
  '/admin/v1/accounts/{account_id}/webhooks': { url: 'https://example.com' },
};

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

/** The example of a body with another value in one of its fields. */
function withValue(example: unknown, [name, ...rest]: readonly string[], value: unknown): unknown {
  if (name === undefined) return value;
  const fields = isObject(example) ? example : {};
  return { ...fields, [name]: withValue(fields[name], rest, value) };
}

describe('a list in a body', () => {
  const app = useTestApp();
  let key: string;
  before(async () => {
    ({ apiKey: key } = await app.createAccount());
    expect(fields.length).to.be.greaterThan(8);
  });

  for (const { endpoint, path, maxItems } of fields) {
    const { method, path: address, access, body } = endpoint;
    const name = `"${path.join('.')}" of ${method.toUpperCase()} ${address}`;
    it(`${name} has a bound`, () => {
      // The requests of a batch are read one after the other while they arrive.
      const most = address === '/v1/messages/batches' ? BATCHES.maxLines : 1_000;
      expect(maxItems).to.be.a('number').that.is.at.most(most);
    });

    it(`${name} with ${ITEMS.length} items is refused before its items are checked`, async () => {
      const [example] = Object.values(body?.content['application/json']?.['examples'] ?? {});
      const url =
        app.baseUrl + address.replaceAll(/\{(\w+)\}/g, (_parameter, parameter: string) => VALUES[parameter] ?? 'x');
      const response = await fetch(url, {
        method: method.toUpperCase(),
        headers: {
          authorization: `Bearer ${access.startsWith('admin') ? app.adminToken : key}`,
          'content-type': 'application/json',
        },
        body: JSON.stringify(withValue(Object(example).value ?? REQUIRED[address], path, ITEMS)),
      });
      const { error }: ErrorBody = JSON.parse(await response.text());
      expect(response.status).to.equal(400);
      expect(error.message).to.match(OTHER_REFUSALS[address] ?? REFUSED_BY_LENGTH);
    });
  }
});
