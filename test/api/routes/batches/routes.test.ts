/** Batches in the form of OpenAI's API: contract 4.17. */
import { expect } from 'chai';
import { useTestApp } from '../../../support/app.ts';
import { call } from '../../../support/stack.ts';

describe('errors of batches', () => {
  const app = useTestApp();

  it('have the common envelope, with the fields that OpenAI’s SDKs read', async () => {
    // contract 4.17:29
    const { apiKey } = await app.createAccount({ fundedUsd: 1 });
    for (const [key, path, status, code] of [
      ['sk-wrong', '/v1/batches', 401, 'invalid_api_key'],
      [apiKey, '/v1/batches?limit=0', 400, 'bad_request'],
      [apiKey, '/v1/batches/batch_1', 404, 'not_found'],
    ] as const) {
      const answer = await call<{ error: object }>(app.baseUrl + path, { key });
      expect(answer.status).to.equal(status);
      expect(answer.body.error).to.include({ code, retryable: false, type: 'svc_error', param: null });
      expect(answer.body.error).to.have.property('request_id').that.is.a('string');
    }
  });
});
