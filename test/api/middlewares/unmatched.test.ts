import { once } from 'node:events';
import { type IncomingMessage, request as send } from 'node:http';
import { json } from 'node:stream/consumers';
import { expect } from 'chai';
import { type ErrorBody, useTestApp } from '../../support/app.ts';
import { call } from '../../support/stack.ts';

describe('a request that no route matches', () => {
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
      // contract 1:13 2.3:4 4:1 7.1:1 7.2:8
      const { status, headers, body } = await call<ErrorBody>(app.baseUrl + path);
      expect([status, body.error.code, body.error.retryable]).to.deep.equal([404, 'not_found', false]);
      expect(headers.get('content-type')).to.match(/^application\/json/);
      expect(headers.get('x-request-id')).to.equal(body.error.request_id);
    });
  }

  // The paths of OpenAI, Anthropic, Google, fal, Replicate and others that clients try.
  for (const [advice, paths] of [
    [
      'POST /v1/chat/completions',
      [
        '/v1/completions',
        '/v1/complete',
        '/v1/edits',
        '/v1/engines/davinci/completions',
        '/completions',
        '/api/chat',
        '/api/generate',
        '/chat/completions',
        '/api/v1/chat/completions',
        '/openai/deployments/gpt/chat/completions',
        '/v1beta/openai/chat/completions',
      ],
    ],
    [
      'POST /v1/responses',
      [
        '/v1/responses/resp_1/cancel',
        '/v1/responses/compact',
        '/v1/chat/completions/chatcmpl-1',
        '/v1/assistants',
        '/v1/threads/runs',
        '/v1/conversations/conv_1/items',
        '/v1beta/interactions',
        '/responses',
      ],
    ],
    ['POST /v1/embeddings', ['/embeddings']],
    ['POST /v1/rerank', ['/rerank']],
    ['POST /v1/messages', ['/anthropic/v1/messages']],
    [
      'POST /v1/images/tasks',
      [
        '/v1/images',
        '/v1/images/variations',
        '/fal-ai/flux/dev',
        '/fal-ai/flux/requests/1/status',
        '/v1/predictions',
        '/v1/models/black-forest-labs/flux-dev/predictions',
        '/v1/deployments/a/b/predictions',
        '/v1beta/models/imagen-4:predict',
      ],
    ],
    [
      'POST /v1/videos/tasks',
      [
        '/v1/videos/task_1/remix',
        '/v1/videos/edits',
        '/v1/videos/extensions',
        '/v1/videos/characters',
        '/v1/videos/characters/char_1',
        '/v1/videos/generations',
        '/v1/video/generations',
        '/v1beta/models/veo-3.1:predictLongRunning',
      ],
    ],
    ['GET /v1/tasks/{task_id}', ['/v1/predictions/1/cancel', '/v1beta/models/veo-3.1/operations/1']],
    [
      'POST /v1/batches',
      ['/v1/batches/x/y', '/v1/messages/batches/x/y', '/v1beta/models/texth-3.8-flash:batchGenerateContent'],
    ],
    [
      'GET /v1/models',
      ['/v1/fine_tuning/jobs', '/v1/trainings', '/v1/evals', '/v1/audio/voices', '/models', '/v1/collections'],
    ],
    [
      'send the data with each request',
      ['/v1/vector_stores', '/v1/containers', '/v1/skills', '/v1beta/fileSearchStores'],
    ],
    [
      'POST /v1/files',
      ['/v1/uploads', '/upload/v1beta/files', '/upload/v1/files', '/v1beta/files', '/storage/upload/initiate'],
    ],
    ['POST /v1/moderations', ['/v1/moderation']],
    ['GET /v1/balance', ['/v1/organization/costs', '/v1/dashboard/billing/usage', '/v1/credits', '/v1/account']],
    ['the whole prompt', ['/v1beta/cachedContents', '/v1/cachedContents']],
    ['the whole history', ['/v1beta/interactions', '/v1/interactions']],
    [
      'POST /v1beta/models/{model}:generateContent',
      [
        '/v1alpha/models/x:generateContent',
        '/v1/projects/p/locations/l/publishers/google/models/m:streamGenerateContent',
      ],
    ],
    ['/docs', ['/v1/nothing']],
  ] as const) {
    for (const path of paths) {
      it(`names the endpoint to use instead of ${path}`, async () => {
        // contract 4:1
        const { status, body } = await call<ErrorBody>(app.baseUrl + path, { method: 'POST', body: {} });
        expect([status, body.error.code]).to.deep.equal([404, 'not_found']);
        expect(body.error.message).to.include(advice);
      });
    }
  }

  for (const path of [
    '/v1/realtime/calls/rtc_1/accept',
    '/v1/realtime/sessions',
    '/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent',
  ]) {
    it(`is 503 realtime_disabled for ${path}, on both addresses, also for an upgrade`, async () => {
      // contract 7.2:18
      const upgrade = {
        connection: 'Upgrade',
        upgrade: 'websocket',
        'sec-websocket-version': '13',
        'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==',
      };
      for (const url of [app.baseUrl, await app.startText()]) {
        for (const [method, headers] of [
          ['GET', {}],
          ['POST', {}],
          ['GET', upgrade],
        ] as const) {
          const { status, body } = await answerTo(url + path, method, headers);
          expect(status).to.equal(503);
          expect(body.error).to.include({ code: 'realtime_disabled', retryable: false });
          expect(body.error.message)
            .to.include('POST /v1/realtime/client_secrets')
            .and.include('POST /v1/chat/completions');
        }
      }
    });
  }

  it('names the other address where the text address lacks a path', async () => {
    const textUrl = await app.startText();
    for (const path of ['/v1/videos/tasks', '/v1/images/generations', '/v1/capabilities/run']) {
      const { status, body } = await call<ErrorBody>(textUrl + path, { method: 'POST', body: {} });
      expect(status).to.equal(404);
      expect(body.error.message).to.match(/ Send the request to http\S+\.$/);
    }
  });

  for (const [method, path, allow] of [
    ['GET', '/v1/images/tasks', 'POST'],
    ['DELETE', '/v1/images/tasks', 'POST'],
    ['GET', '/v1/videos/tasks', 'POST'],
    ['DELETE', '/v1/videos/tasks', 'POST'],
    ['POST', '/v1/tasks/task_x', 'GET, HEAD'],
    ['DELETE', '/v1/tasks', 'GET, HEAD'],
    ['PATCH', '/v1/files', 'GET, HEAD, POST'],
    ['PUT', '/v1/models', 'GET, HEAD'],
    ['PUT', '/v1/webhooks', 'GET, HEAD, POST'],
    ['POST', '/v1/webhooks/we_x', 'DELETE, GET, HEAD, PATCH'],
  ] as const) {
    it(`is 405 with Allow for another method of a known path: ${method} ${path}`, async () => {
      // contract 4:2 7.2:25
      const { status, headers, body } = await call<ErrorBody>(app.baseUrl + path, { method });
      expect([status, body.error.code, headers.get('allow')]).to.deep.equal([405, 'bad_request', allow]);
    });
  }

  it('answers OPTIONS with the allowed methods', async () => {
    // contract 4:3
    const { status, headers } = await call(`${app.baseUrl}/v1/tasks`, { method: 'OPTIONS' });
    expect([status, headers.get('allow')]).to.deep.equal([204, 'GET, HEAD']);
  });
});

/** Sends a request with any headers, as a client of WebSockets does. */
async function answerTo(
  url: string,
  method: string,
  headers: Readonly<Record<string, string>>,
): Promise<{ readonly status: number | undefined; readonly body: ErrorBody }> {
  const request = send(url, { method, headers }).end();
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  return { status: response.statusCode, body: (await json(response)) as ErrorBody };
}
