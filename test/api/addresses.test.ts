import { expect } from 'chai';
import { WIRE_FORMAT_NAMES } from '../../domain/wire-format-name.ts';
import { type ErrorBody, useTestApp } from '../support/app.ts';
import type { TestCaller } from '../support/factories.ts';
import { call } from '../support/stack.ts';
import { ASK } from '../support/text.ts';

const MODEL = 'texth-3.8-flash';

describe('the two addresses', () => {
  const app = useTestApp();
  let caller: TestCaller;
  let urls: readonly [base: string, text: string];

  before(async () => {
    caller = await app.createAccount({ fundedUsd: 1 });
    urls = [app.baseUrl, await app.startText()];
  });

  /** The status and the code of the answer, on each address, to a request for which no upstream runs. */
  async function codesOf(path: string, body: unknown, apiKey: string): Promise<readonly unknown[]> {
    const headers = { 'msgfmt-version': '2023-06-01' };
    const answers = await Promise.all(
      urls.map((url) => call<{ error: { code?: string; type?: string } }>(url + path, { key: apiKey, body, headers })),
    );
    return answers.map(({ status, body: { error } }) => `${status} ${error.code ?? error.type}`);
  }

  for (const format of WIRE_FORMAT_NAMES) {
    it(`accept ${format} alike: the same keys, balances and models`, async () => {
      // contract 1:9 1:10 1:11
      const { path, body } = ASK[format](MODEL, 'Hi', false);
      const poor = await app.createAccount({ fundedUsd: 0 });
      expect(await codesOf(path, body, caller.apiKey)).to.deep.equal(Array(2).fill('503 processing_unavailable'));
      expect(await codesOf(path, body, poor.apiKey)).to.deep.equal(Array(2).fill('403 forbidden'));
      expect(await codesOf(path, body, 'sk-wrong')).to.deep.equal(Array(2).fill('401 invalid_api_key'));
      const unknown = ASK[format]('none', 'Hi', false);
      expect(await codesOf(unknown.path, unknown.body, caller.apiKey)).to.deep.equal(Array(2).fill('404 not_found'));
    });
  }

  it('serve different other endpoints: the text address has neither media nor documentation', async () => {
    // contract 4.12:4
    for (const path of [
      '/v1/tasks',
      '/v1/webhooks',
      '/v1/balance',
      '/v1/usage',
      '/openapi.json',
      '/docs/api',
      '/docs/administration',
    ]) {
      const [onBase, onText] = await Promise.all(
        urls.map((url) => fetch(url + path, { headers: { authorization: `Bearer ${caller.apiKey}` } })),
      );
      expect([onBase?.status, onText?.status], path).to.deep.equal([200, 404]);
    }
  });
});

describe('a fault of the service itself', () => {
  const app = useTestApp({
    mountPages: (router) =>
      router.get('/broken', () => {
        throw new TypeError('secret of the inside');
      }),
  });

  it('is 500 internal_error, which is retryable and reveals nothing of the fault', async () => {
    // contract 7.2:13
    const { status, headers, body } = await call<ErrorBody>(`${app.baseUrl}/broken`);
    expect([status, body.error.code, body.error.retryable]).to.deep.equal([500, 'internal_error', true]);
    expect(body.error.request_id).to.equal(headers.get('x-request-id'));
    expect(JSON.stringify(body)).to.not.contain('secret');
  });
});
