import { expect } from 'chai';
import { type ErrorBody, useTestApp } from '../../support/app.ts';
import { call } from '../../support/stack.ts';

describe('what no route takes', () => {
  const app = useTestApp();

  for (const path of [
    '/',
    '/v1',
    '/v1/video/tasks',
    '/v1/tasks/a/b',
    '/v2/models',
    '/v1//models',
    '/V1/models',
    '/%00',
    '/%',
  ]) {
    it(`is 404 not_found in the common envelope: ${path}`, async () => {
      const { status, headers, body } = await call<ErrorBody>(app.baseUrl + path);
      expect([status, body.error.code, body.error.retryable]).to.deep.equal([404, 'not_found', false]);
      expect(headers.get('content-type')).to.match(/^application\/json/);
      expect(headers.get('x-request-id')).to.equal(body.error.request_id);
    });
  }

  for (const [path, advice] of [
    ['/v1/images/variations', '/v1/images/generations'],
    ['/v1/videos/task_1/remix', 'POST /v1/videos/tasks'],
    ['/v1/completions', 'POST /v1/chat/completions'],
    ['/v1/threads/runs', 'POST /v1/responses'],
    ['/v1/responses/resp_1/cancel', 'POST /v1/responses'],
    ['/v1beta/models/texth-4-argon:countTokens', 'POST /v1/messages/count_tokens'],
  ] as const) {
    it(`names what to use instead of ${path}`, async () => {
      const { status, body } = await call<ErrorBody>(app.baseUrl + path, { method: 'POST', body: {} });
      expect([status, body.error.code]).to.deep.equal([404, 'not_found']);
      expect(body.error.message).to.include(advice);
    });
  }

  for (const [method, path, allow] of [
    ['GET', '/v1/images/tasks', 'POST'],
    ['DELETE', '/v1/images/tasks', 'POST'],
    ['POST', '/v1/tasks/task_x', 'GET, HEAD'],
    ['DELETE', '/v1/tasks', 'GET, HEAD'],
    ['PATCH', '/v1/files', 'GET, HEAD, POST'],
    ['PUT', '/v1/models', 'GET, HEAD'],
    ['PUT', '/v1/webhooks', 'GET, HEAD, POST'],
    ['POST', '/v1/webhooks/we_x', 'DELETE, GET, HEAD, PATCH'],
  ] as const) {
    it(`is 405 with Allow for another method of a known path: ${method} ${path}`, async () => {
      const { status, headers, body } = await call<ErrorBody>(app.baseUrl + path, { method });
      expect([status, body.error.code, headers.get('allow')]).to.deep.equal([405, 'bad_request', allow]);
    });
  }

  it('answers OPTIONS with the allowed methods', async () => {
    const { status, headers } = await call(`${app.baseUrl}/v1/tasks`, { method: 'OPTIONS' });
    expect([status, headers.get('allow')]).to.deep.equal([204, 'GET, HEAD']);
  });
});
