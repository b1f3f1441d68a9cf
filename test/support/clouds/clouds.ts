/**
 * Vertex, Bedrock and Azure on this machine: they check tokens and signatures as the vendors do, refuse bodies that the
 * vendors refuse, and let the simulator answer in the vendor's format.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text as readText } from 'node:stream/consumers';
import { EventStreamCodec } from '@smithy/core/event-streams';
import { serveLocally } from '../../../lab/stack/local-server.ts';
import { isObject, type JsonObject } from '../../../domain/json.ts';
import { parseServerSentEvents } from '../../../text/sse.ts';
import { runStage } from '../../../text/stage.ts';
import { startTextSimulator } from '../simulator.ts';
import { verifySignature } from '../../../lab/stack/clouds/aws-signature.ts';
import { fromEvent, fromMessage, isErrorEvent, toMessages } from './converse.ts';
import { createTokenServices, type TokenServices } from '../../../lab/stack/clouds/token-services.ts';

export const AZURE_KEY = 'an-azure-key';
export const BEDROCK_KEY = 'a-bedrock-api-key';

export interface Clouds extends TokenServices {
  readonly url: string;
  /** The bodies that the clouds received, in order. */
  readonly received: {
    readonly path: string;
    readonly body: JsonObject;
    readonly headers: IncomingMessage['headers'];
  }[];
  stop(): Promise<void>;
}

/** A refusal in the cloud's own form. */
class Refusal extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message = 'No.') {
    super(message);
    this.status = status;
    this.code = code;
  }
}

export async function startClouds(): Promise<Clouds> {
  const [simulator, services] = await Promise.all([startTextSimulator(), createTokenServices()]);
  const received: Clouds['received'] = [];
  const [key] = simulator.settings.apiKeys;

  const forward = (path: string, body: JsonObject): Promise<Response> =>
    fetch(simulator.url + path, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'x-api-key': key,
        'x-goog-api-key': key,
        'anthropic-version': '2023-06-01',
        'content-type': 'application/json',
      },
      body: JSON.stringify(body),
    });

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, search } = new URL(request.url ?? '', 'http://cloud');
    if (pathname.startsWith('/tokens')) return services.handle(cloudPath(pathname), request, response);
    const text = await readText(request);
    const body: unknown = text === '' ? {} : JSON.parse(text);
    const given = isObject(body) ? body : {};
    received.push({ path: pathname + search, body: given, headers: request.headers });
    const path = decodeURIComponent(pathname);
    if (path.startsWith('/v1/projects/')) return vertex(path, given, { request, response, services, forward });
    if (path.startsWith('/model/') || isSigned(request))
      return bedrock(path, given, text, { request, response, services, forward });
    return azure(path + search, given, { request, response, services, forward });
  }

  const server = await serveLocally((request, response) => {
    serve(request, response).catch((error: unknown) => refuse(request, response, error));
  });
  return {
    ...services,
    url: server.url,
    received,
    stop: async () => {
      await server.close();
      await simulator.stop();
    },
  };
}

/** Entra's paths have the tenant in them. */
function cloudPath(path: string): string {
  return path.split('/').slice(0, 3).join('/');
}

interface Visit {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly services: TokenServices;
  readonly forward: (path: string, body: JsonObject) => Promise<Response>;
}

function refuse({ url = '' }: IncomingMessage, response: ServerResponse, error: unknown): void {
  const refusal =
    error instanceof Refusal
      ? error
      : new Refusal(400, 'INVALID_ARGUMENT', error instanceof Error ? error.message : '');
  const { status, code, message } = refusal;
  const isAws = code.endsWith('Exception');
  const body = url.startsWith('/v1/projects')
    ? { error: { code: status, status: code, message } }
    : isAws
      ? { message }
      : { error: { code, message } };
  response.writeHead(status, {
    'content-type': 'application/json',
    ...(isAws && { 'x-amzn-errortype': `${code}:http://internal.amazon.com/` }),
  });
  response.end(JSON.stringify(body));
}

async function pass(answer: Response, response: ServerResponse): Promise<void> {
  response.writeHead(answer.status, {
    'content-type': answer.headers.get('content-type') ?? '',
    ...(answer.headers.get('retry-after') !== null && { 'retry-after': answer.headers.get('retry-after') ?? '' }),
  });
  for await (const bytes of answer.body ?? []) response.write(bytes);
  response.end();
}

// ------------------------------------------------------------------------------------------------------------- Vertex

/** The project and location of the tests, and those of docs/upstreams.md. */
const PROJECTS: ReadonlySet<string> = new Set(['project-1/europe-west1', 'my-project/global']);

async function vertex(path: string, body: JsonObject, { request, response, services, forward }: Visit): Promise<void> {
  if (!services.isValid((request.headers.authorization ?? '').replace('Bearer ', '')))
    throw new Refusal(401, 'UNAUTHENTICATED', 'Request had invalid authentication credentials.');
  const [, project, location, rest = ''] = /^\/v1\/projects\/([^/]+)\/locations\/([^/]+)\/(.*)$/.exec(path) ?? [];
  if (!PROJECTS.has(`${project}/${location}`)) throw new Refusal(403, 'PERMISSION_DENIED');
  if (request.headers['x-api-key'] !== undefined || request.headers['x-goog-api-key'] !== undefined)
    throw new Refusal(400, 'INVALID_ARGUMENT', 'A key beside a token.');
  if (rest === 'endpoints/openapi/chat/completions') return pass(await forward('/v1/chat/completions', body), response);
  const [, publisher, model = '', method] = /^publishers\/(\w+)\/models\/([^:]+):(\w+)$/.exec(rest) ?? [];
  if (publisher === 'anthropic')
    return pass(await forward(...claude(model, method === 'streamRawPredict', body)), response);
  if (method === 'predict') return pass(await predict(model, body, forward), response);
  if (publisher !== 'google') throw new Refusal(404, 'NOT_FOUND');
  const contents = Array.isArray(body['contents']) ? body['contents'] : [];
  if (contents.some((content: unknown) => !isObject(content) || content['role'] === undefined))
    throw new Refusal(400, 'INVALID_ARGUMENT', 'Please use a valid role: user, model.');
  const sent = method === 'countTokens' ? { generateContentRequest: { ...body, model: `models/${model}` } } : body;
  return pass(
    await forward(`/v1beta/models/${model}:${method}${new URL(request.url ?? '', 'http://cloud').search}`, sent),
    response,
  );
}

/** The request of the vendor's own API for one of Vertex. */
function claude(model: string, stream: boolean, body: JsonObject): [path: string, body: JsonObject] {
  const { anthropic_version: version, ...fields } = body;
  if (version !== 'vertex-2023-10-16') throw new Refusal(400, 'INVALID_ARGUMENT', 'anthropic_version: Field required');
  if (model === 'count-tokens') return ['/v1/messages/count_tokens', fields];
  if ('model' in body) throw new Refusal(400, 'INVALID_ARGUMENT', 'model: Extra inputs are not permitted');
  if (stream !== (body['stream'] === true)) throw new Refusal(400, 'INVALID_ARGUMENT', 'stream: is wrong');
  return ['/v1/messages', { ...fields, model }];
}

async function predict(model: string, body: JsonObject, forward: Visit['forward']): Promise<Response> {
  const { instances, parameters } = body;
  const input = Array.isArray(instances) ? instances.map(({ content }: { content: string }) => content) : [];
  const dimensions = isObject(parameters) ? parameters['outputDimensionality'] : undefined;
  const answer = await forward('/v1/embeddings', { model, input, ...(dimensions !== undefined && { dimensions }) });
  const { data, usage } = (await answer.json()) as { data: { embedding: number[] }[]; usage: { total_tokens: number } };
  const predictions = data.map(({ embedding }, index) => ({
    embeddings: {
      values: embedding,
      statistics: { truncated: false, token_count: index === 0 ? usage.total_tokens : 0 },
    },
  }));
  return Response.json({ predictions });
}

// ------------------------------------------------------------------------------------------------------------ Bedrock

function isSigned({ headers }: IncomingMessage): boolean {
  return /^AWS4|Bearer a-bedrock/.test(headers.authorization ?? '');
}

const codec = new EventStreamCodec(
  (bytes) => Buffer.from(bytes).toString(),
  (text) => Buffer.from(text),
);

function message(kind: 'event' | 'exception', type: string, body: JsonObject): Uint8Array {
  const text = (value: string) => ({ type: 'string', value }) as const;
  return codec.encode({
    headers: {
      [`:${kind}-type`]: text(type),
      ':content-type': text('application/json'),
      ':message-type': text(kind),
    },
    body: Buffer.from(JSON.stringify(body)),
  });
}

async function bedrock(
  path: string,
  body: JsonObject,
  text: string,
  { request, response, services, forward }: Visit,
): Promise<void> {
  const { awsKeys: keys, conduct } = services;
  const isKey = request.headers.authorization === `Bearer ${BEDROCK_KEY}`;
  const nowMs = Date.now() + conduct.skewMs;
  response.setHeader('date', new Date(nowMs).toUTCString());
  const refusal = isKey ? null : verifySignature(request, text, { keys, service: 'bedrock', nowMs });
  if (refusal !== null) throw new Refusal(403, refusal, 'Signature not accepted.');
  if (path.startsWith('/openai/v1/')) return pass(await forward(path.replace('/openai', ''), body), response);
  if (!path.startsWith('/model/')) throw new Refusal(404, 'UnknownOperationException');
  const [, model = '', method = ''] = /^\/model\/(.+)\/([\w-]+)$/.exec(path) ?? [];
  if (method === 'count-tokens') return countTokens(model, body, response, forward);
  const isConverse = method.startsWith('converse');
  const isStream = method.endsWith('stream');
  const sent = isConverse ? toMessages(body, model, isStream) : invocation(model, isStream, body);
  const answer = await forward('/v1/messages', sent);
  if (!answer.ok) return throwAsException(answer);
  if (!isStream) {
    const whole = (await answer.json()) as JsonObject;
    response.writeHead(200, { 'content-type': 'application/json' });
    return void response.end(JSON.stringify(isConverse ? fromMessage(whole) : whole));
  }
  response.writeHead(200, { 'content-type': 'application/vnd.amazon.eventstream' });
  const state = {};
  for (const { data } of runStage([Buffer.from(await answer.arrayBuffer())], parseServerSentEvents())) {
    const event = JSON.parse(data) as JsonObject;
    if (isErrorEvent(event)) {
      response.end(message('exception', 'modelStreamErrorException', { message: 'The model failed.' }));
      return;
    }
    const events = isConverse ? fromEvent(event, state) : chunkOf(event);
    // In odd pieces, as networks deliver them.
    for (const [type, part] of events) {
      const bytes = Buffer.from(message('event', type, part));
      response.write(bytes.subarray(0, 7));
      response.write(bytes.subarray(7));
    }
  }
  response.end();
}

function chunkOf(event: JsonObject): readonly (readonly [string, JsonObject])[] {
  const last = event['type'] === 'message_stop' && { 'amazon-bedrock-invocationMetrics': { inputTokenCount: 1 } };
  const bytes = Buffer.from(JSON.stringify({ ...event, ...last })).toString('base64');
  return [['chunk', { bytes, p: 'abcdef' }]];
}

function invocation(model: string, stream: boolean, body: JsonObject): JsonObject {
  const { anthropic_version: version, anthropic_beta: _betas, ...fields } = body;
  if (version !== 'bedrock-2023-05-31')
    throw new Refusal(400, 'ValidationException', 'anthropic_version: Field required');
  if ('model' in body || 'stream' in body)
    throw new Refusal(400, 'ValidationException', 'extraneous key [stream] is not permitted');
  return { ...fields, model, stream };
}

async function countTokens(
  model: string,
  { input }: JsonObject,
  response: ServerResponse,
  forward: Visit['forward'],
): Promise<void> {
  const { invokeModel } = input as { invokeModel: { body: string } };
  const counted = invocation(
    model,
    false,
    JSON.parse(Buffer.from(invokeModel.body, 'base64').toString()) as JsonObject,
  );
  const { max_tokens: _most, stream: _stream, ...fields } = counted;
  const answer = (await (await forward('/v1/messages/count_tokens', fields)).json()) as { input_tokens: number };
  response
    .writeHead(200, { 'content-type': 'application/json' })
    .end(JSON.stringify({ inputTokens: answer.input_tokens }));
}

const EXCEPTIONS: Readonly<Record<number, string>> = {
  400: 'ValidationException',
  403: 'AccessDeniedException',
  404: 'ResourceNotFoundException',
  429: 'ThrottlingException',
  503: 'ServiceUnavailableException',
  529: 'ServiceUnavailableException',
};

async function throwAsException(answer: Response): Promise<never> {
  const { error } = (await answer.json()) as { error: { message: string } };
  const status = answer.status === 529 ? 503 : answer.status;
  throw new Refusal(status, EXCEPTIONS[answer.status] ?? 'InternalServerException', error.message);
}

// -------------------------------------------------------------------------------------------------------------- Azure

const FILTERED = { hate: { filtered: false, severity: 'safe' }, violence: { filtered: true, severity: 'high' } };

async function azure(path: string, body: JsonObject, { request, response, services, forward }: Visit): Promise<void> {
  const { authorization = '', 'api-key': apiKey, 'x-api-key': anthropicKey } = request.headers;
  const isKnown = (apiKey ?? anthropicKey) === AZURE_KEY || services.isValid(authorization.replace('Bearer ', ''));
  if (!isKnown) throw new Refusal(401, '401', 'Access denied due to invalid subscription key or wrong API endpoint.');
  if (request.method === 'GET' && path === '/openai/v1/models') return pass(Response.json({ data: [] }), response);
  if (JSON.stringify(body).includes('filter me')) {
    response.writeHead(400, { 'content-type': 'application/json' });
    const innererror = { code: 'ResponsibleAIPolicyViolation', content_filter_result: FILTERED };
    const error = {
      message: 'The response was filtered.',
      type: null,
      param: 'prompt',
      code: 'content_filter',
      innererror,
    };
    return void response.end(JSON.stringify({ error }));
  }
  const older = /^\/openai\/deployments\/([^/]+)\/(chat\/completions|embeddings)\?api-version=[\d-]+/.exec(path);
  const sent = older === null ? body : { ...body, model: older[1] };
  const target =
    older === null
      ? path.replace(/^\/(openai|anthropic)\/v1/, '/v1').replace(/^\/openai\/responses\?.*/, '/v1/responses')
      : `/v1/${older[2]}`;
  const answer = await forward(target, sent);
  if (target !== '/v1/chat/completions' || sent['stream'] !== true || !answer.ok) return pass(answer, response);
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const annotation = { choices: [], prompt_filter_results: [{ prompt_index: 0, content_filter_results: FILTERED }] };
  response.write(`data: ${JSON.stringify(annotation)}\n\n`);
  const offsets = { check_offset: 0, start_offset: 0, end_offset: 9 };
  const late = {
    choices: [{ index: 0, finish_reason: null, content_filter_results: FILTERED, content_filter_offsets: offsets }],
  };
  const whole = await answer.text();
  response.end(whole.replace('data: [DONE]', `data: ${JSON.stringify(late)}\n\ndata: [DONE]`));
}
