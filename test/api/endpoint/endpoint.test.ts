import { expect } from 'chai';
import type { Access } from '../../../api/endpoint/access.ts';
import type { Endpoint } from '../../../api/endpoint/endpoint.ts';
import { endpointsFor } from '../../../api/endpoints.ts';
import { type ErrorBody, useTestApp } from '../../support/app.ts';
import type { TestCaller } from '../../support/factories.ts';
import { type Answer, call } from '../../support/stack.ts';

const endpoints = endpointsFor({ canTakePayments: false });
/** Path parameters that are checked first: `{model}` takes any text, `{any_id}` any id, `{month}` is no id. */
const ID = /\{(?!any_id\b|month\b|model\b|model_id\b|price_list\b|provider\b|upstream\b|vendor\b)\w+\}/;

/** The names of the optional query parameters. */
function queryOf({ parameters }: Endpoint): string[] {
  return parameters.flatMap(({ name, in: place, required }) =>
    place === 'query' && required !== true ? [String(name)] : [],
  );
}

describe('every endpoint', () => {
  const app = useTestApp();
  let caller: TestCaller;

  before(async () => {
    caller = await app.createAccount({ fundedUsd: 10 });
  });

  const credentialFor = (access: Access): string =>
    access.startsWith('admin') ? app.adminToken : access === 'metrics' ? app.metricsToken : caller.apiKey;

  /** Calls an endpoint with `x` for each parameter of its path. */
  function ask(
    { method, path, access }: Endpoint,
    { query = '', body, key = credentialFor(access) }: { query?: string; body?: string; key?: string } = {},
  ): Promise<Answer<ErrorBody>> {
    const url = app.baseUrl + path.replaceAll(/\{\w+\}/g, 'x') + query;
    return call<ErrorBody>(url, {
      method: method.toUpperCase(),
      headers: key === '' ? {} : { authorization: `Bearer ${key}` },
      ...(body !== undefined && { body }),
    });
  }

  it('asks for a credential before it looks at the path, the query or the body', async () => {
    for (const endpoint of endpoints.filter(({ access }) => access !== 'open')) {
      const body = endpoint.body && '{';
      const { status } = await ask(endpoint, { key: '', query: '?limit=x&from=x&date=x', ...(body && { body }) });
      expect(status, endpoint.id).to.equal(401);
    }
  });

  it('refuses an invalid id before it reads the body, and names the kind of resource', async () => {
    for (const endpoint of endpoints.filter(({ path }) => ID.test(path))) {
      const { status, body } = await ask(endpoint, endpoint.body && { body: '{' });
      expect([status, body.error.code], endpoint.id).to.deep.equal([404, 'not_found']);
      expect(body.error.message, endpoint.id).to.match(/^There is no such [a-z ]+\. Check the id/);
    }
  });

  it('refuses a query parameter that is sent twice', async () => {
    // contract 4.10:4
    for (const endpoint of endpoints.filter(({ path }) => !ID.test(path))) {
      for (const name of queryOf(endpoint)) {
        const { status, body } = await ask(endpoint, { query: `?${name}=1&${name}=2` });
        expect(status, endpoint.id).to.equal(400);
        expect(body.error.message, endpoint.id).to.contain(`"${name}" may be given only once`);
      }
    }
  });

  it('treats an empty query parameter as absent', async () => {
    // contract 4.10:4
    // There is no price list `x`.
    const isOfPriceList = ({ path }: Endpoint): boolean => path.includes('{price_list}');
    const lists = endpoints.filter(
      (endpoint) =>
        !ID.test(endpoint.path) &&
        queryOf(endpoint).length > 0 &&
        !endpoint.body &&
        !isOfPriceList(endpoint) &&
        200 in endpoint.answers,
    );
    expect(lists).to.have.length.above(5);
    for (const endpoint of lists) {
      const query = queryOf(endpoint).map((name) => `${name}=`);
      expect((await ask(endpoint, { query: `?${query.join('&')}` })).status, endpoint.id).to.equal(200);
    }
  });
});
