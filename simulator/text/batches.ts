/**
 * The batch APIs of OpenAI, Anthropic and Google. The formats answer the requests of a job when it ends; directives in any of its
 * prompts control the job, those in a prompt its answer: docs/simulator.md.
 */
import type { ServerResponse } from 'node:http';
import { type JsonObject, listOf, objectOf, stringOf } from '../../domain/json.ts';
import { type Directives, oneOf, parseDirectives, wholeNumber } from '../directives.ts';
import {
  dropConnection,
  type Handler,
  parseJson,
  type Route,
  route,
  sendJson,
  type SimulatorRequest,
} from '../router.ts';
import { readForm } from '../vendors/form.ts';
import { badRequest, TextFailure } from './failure.ts';
import { newId, nowSeconds, type SimulatedFormat } from './format.ts';

/** The whole answer of a format to a body. */
export type AnswerWhole = (
  format: SimulatedFormat,
  body: unknown,
  request: SimulatorRequest,
) => { readonly status: number; readonly body: unknown };

interface BatchOptions {
  readonly apiKey: string | undefined;
  readonly formats: Readonly<Record<'chat' | 'responses' | 'embeddings' | 'messages' | 'native', SimulatedFormat>>;
  readonly answer: AnswerWhole;
}

interface JobLine {
  readonly customId: string;
  readonly fault: string | undefined;
  readonly answer: () => { readonly status: number; readonly body: unknown };
}

interface Job {
  readonly id: string;
  readonly vendor: 'openai' | 'anthropic' | 'google';
  /** The mark of the client, where the vendor has one. */
  readonly mark: string | null;
  readonly facts: JsonObject;
  readonly lines: readonly JobLine[];
  readonly fault: string | undefined;
  readonly createdAtMs: number;
  endsAtMs: number;
  cancelledAtMs: number | null;
  downloads: number;
}

const DEFAULT_JOB_MS = 300;
const JOB_FAULTS = ['lost', 'stall', 'never', 'refused', 'cut', 'gone'] as const;
const LINE_FAULTS = ['missing', 'twice', 'stranger', 'expired', 'garbage'] as const;
const CUSTOM_ID = /^[\w-]{1,64}$/;

export function batchRoutes(options: BatchOptions): readonly Route[] {
  const jobs = new Jobs();
  const inspection = route('GET', '/_sim/batches', (_request, response) =>
    sendJson(response, 200, { data: jobs.facts }),
  );
  return [
    ...openaiRoutes(jobs, options),
    ...anthropicRoutes(jobs, options),
    ...googleRoutes(jobs, options),
    inspection,
  ];
}

class Jobs {
  readonly files = new Map<string, Buffer>();
  readonly #jobs = new Map<string, Job>();

  get facts(): readonly object[] {
    return [...this.#jobs.values()].map(({ id, vendor, mark, lines, cancelledAtMs }) => ({
      id,
      vendor,
      mark,
      custom_ids: lines.map(({ customId }) => customId),
      is_cancelled: cancelledAtMs !== null,
    }));
  }

  /** @param render the created job as the vendor shows it */
  create(
    response: ServerResponse,
    job: Pick<Job, 'vendor' | 'mark' | 'facts' | 'id'>,
    requests: readonly { readonly customId: string; readonly body: unknown; readonly answer: JobLine['answer'] }[],
    render: (job: Job) => object,
  ): void {
    if (requests.length === 0) throw badRequest('The batch has no requests.');
    if (new Set(requests.map(({ customId }) => customId)).size < requests.length)
      throw badRequest('Each custom id must be unique.');
    const directives = parseDirectives(requests.map(({ body }) => JSON.stringify(body)).join('\n'));
    const fault = oneOf(directives, 'batch', JOB_FAULTS);
    if (fault === 'never') return dropConnection(response);
    if (fault === 'refused' && job.vendor === 'anthropic') throw badRequest('The batch is refused.');
    const createdAtMs = Date.now();
    const created: Job = {
      ...job,
      fault,
      lines: requests.map(({ customId, body, answer: answerOf }) => ({
        customId,
        fault: oneOf(directivesOf(body), 'batch_line', LINE_FAULTS),
        answer: answerOf,
      })),
      createdAtMs,
      endsAtMs: createdAtMs + (wholeNumber(directives, 'batch_ms') ?? DEFAULT_JOB_MS),
      cancelledAtMs: null,
      downloads: 0,
    };
    this.#jobs.set(created.id, created);
    if (fault === 'lost') dropConnection(response);
    else if (fault !== 'stall') sendJson(response, 200, render(created));
  }

  find(vendor: Job['vendor'], id: string | undefined): Job {
    const job = this.#jobs.get(id ?? '');
    if (job?.vendor !== vendor || (job.fault === 'gone' && hasEnded(job))) {
      throw new TextFailure('not_found', { message: 'There is no such batch.' });
    }
    return job;
  }

  /** The newest first. */
  list(vendor: Job['vendor']): readonly Job[] {
    return [...this.#jobs.values()].filter((job) => job.vendor === vendor).toReversed();
  }
}

function cancel(job: Job): Job {
  if (!hasEnded(job)) {
    job.cancelledAtMs = Date.now();
    job.endsAtMs = Date.now();
  }
  return job;
}

/** Answers refusals as the format does. */
function guard(apiKey: string | undefined): (format: SimulatedFormat, handle: Handler) => Handler {
  return (format, handle) => async (request, response) => {
    try {
      format.requireCredential(request, apiKey);
      await handle(request, response);
    } catch (error) {
      if (!(error instanceof TextFailure)) throw error;
      const { status, body } = format.renderFailure(error, false);
      sendJson(response, status, JSON.parse(body));
    }
  };
}

function openaiRoutes(jobs: Jobs, options: BatchOptions): readonly Route[] {
  const { chat: openai } = options.formats;
  const guarded = guard(options.apiKey);
  return [
    route(
      'POST',
      '/v1/files',
      guarded(openai, async (request, response) => {
        const { fields, files: parts } = await readForm(request);
        const [file] = parts['file'] ?? [];
        if (fields['purpose'] !== 'batch' || file === undefined) throw badRequest('A file for a batch is expected.');
        const id = newId('file-');
        jobs.files.set(id, file.bytes);
        sendJson(response, 200, { id, object: 'file', purpose: 'batch', bytes: file.bytes.length });
      }),
    ),
    route(
      'POST',
      '/v1/batches',
      guarded(openai, (request, response) => createOpenai(request, response, jobs, options)),
    ),
    route(
      'GET',
      '/v1/batches',
      guarded(openai, (_request, response) =>
        sendJson(response, 200, { object: 'list', data: jobs.list('openai').map(showOpenai), has_more: false }),
      ),
    ),
    route(
      'GET',
      '/v1/batches/{id}',
      guarded(openai, ({ parameters }, response) =>
        sendJson(response, 200, showOpenai(jobs.find('openai', parameters['id']))),
      ),
    ),
    route(
      'POST',
      '/v1/batches/{id}/cancel',
      guarded(openai, ({ parameters }, response) =>
        sendJson(response, 200, showOpenai(cancel(jobs.find('openai', parameters['id'])))),
      ),
    ),
    route(
      'GET',
      '/v1/files/{id}/content',
      guarded(openai, ({ parameters }, response) => {
        const [id = '', kind] = (parameters['id'] ?? '').split('.');
        const job = jobs.find('openai', id);
        const results = resultsOf(job).filter(({ status }) => (status === 200) === (kind === 'output'));
        sendLines(response, job, results, ({ customId, status, body }) => ({
          id: newId('batch_req_'),
          custom_id: customId,
          response: status === null ? null : { status_code: status, request_id: newId('req_'), body },
          error: status === null ? { code: 'batch_expired', message: 'The request did not run in time.' } : null,
        }));
      }),
    ),
  ];
}

function anthropicRoutes(jobs: Jobs, options: BatchOptions): readonly Route[] {
  const { messages } = options.formats;
  const guarded = guard(options.apiKey);
  return [
    route(
      'POST',
      '/v1/messages/batches',
      guarded(messages, (request, response) => createAnthropic(request, response, jobs, options)),
    ),
    route(
      'GET',
      '/v1/messages/batches',
      guarded(messages, (_request, response) =>
        sendJson(response, 200, { data: jobs.list('anthropic').map(showAnthropic), has_more: false }),
      ),
    ),
    route(
      'GET',
      '/v1/messages/batches/{id}',
      guarded(messages, ({ parameters }, response) =>
        sendJson(response, 200, showAnthropic(jobs.find('anthropic', parameters['id']))),
      ),
    ),
    route(
      'POST',
      '/v1/messages/batches/{id}/cancel',
      guarded(messages, ({ parameters }, response) =>
        sendJson(response, 200, showAnthropic(cancel(jobs.find('anthropic', parameters['id'])))),
      ),
    ),
    route(
      'GET',
      '/v1/messages/batches/{id}/results',
      guarded(messages, ({ parameters }, response) => {
        const job = jobs.find('anthropic', parameters['id']);
        if (!hasEnded(job)) throw badRequest('The batch has not ended.');
        sendLines(response, job, resultsOf(job), ({ customId, status, body }) => ({
          custom_id: customId,
          result:
            status === 200
              ? { type: 'succeeded', message: body }
              : status === null
                ? { type: job.cancelledAtMs === null ? 'expired' : 'canceled' }
                : { type: 'errored', error: body },
        }));
      }),
    ),
  ];
}

function googleRoutes(jobs: Jobs, options: BatchOptions): readonly Route[] {
  const { native } = options.formats;
  const guarded = guard(options.apiKey);
  return [
    route(
      'POST',
      '/v1beta/models/{model}:batchGenerateContent',
      guarded(native, (request, response) => createGoogle(request, response, jobs, options)),
    ),
    route(
      'GET',
      '/v1beta/batches',
      guarded(native, (_request, response) =>
        sendJson(response, 200, { operations: jobs.list('google').map(showGoogleWithoutAnswers) }),
      ),
    ),
    route(
      'GET',
      '/v1beta/batches/{id}',
      guarded(native, ({ parameters }, response) => {
        const job = jobs.find('google', `batches/${parameters['id']}`);
        const text = JSON.stringify(showGoogle(job));
        if (job.fault === 'cut' && hasEnded(job) && job.downloads++ === 0) sendCut(response, text);
        else sendJson(response, 200, JSON.parse(text));
      }),
    ),
    route(
      'POST',
      '/v1beta/batches/{id}:cancel',
      guarded(native, ({ parameters }, response) => {
        cancel(jobs.find('google', `batches/${parameters['id']}`));
        sendJson(response, 200, {});
      }),
    ),
  ];
}

function createOpenai(
  request: SimulatorRequest,
  response: ServerResponse,
  jobs: Jobs,
  { formats, answer }: BatchOptions,
): void {
  const facts = objectOf(parseJson(request));
  const format = [formats.chat, formats.responses, formats.embeddings].find(({ paths }) =>
    paths.includes(stringOf(facts['endpoint'])),
  );
  const file = jobs.files.get(stringOf(facts['input_file_id']));
  if (format === undefined || file === undefined || facts['completion_window'] !== '24h')
    throw badRequest('The batch needs a file, a known endpoint and the window 24h.');
  const lines = file
    .toString()
    .split('\n')
    .filter(Boolean)
    .map((line) => objectOf(JSON.parse(line)));
  if (lines.some(({ url, method }) => url !== facts['endpoint'] || method !== 'POST'))
    throw badRequest('The url of each line must be the endpoint of the batch.');
  if (new Set(lines.map(({ body }) => objectOf(body)['model'])).size > 1)
    throw badRequest('All requests of a batch must have the same model.');
  const requests = lines.map(({ custom_id: customId, body }) => ({
    customId: stringOf(customId),
    body,
    answer: () => answer(format, body, request),
  }));
  const mark = stringOf(objectOf(facts['metadata'])['genway_job']);
  jobs.create(response, { id: newId('batch_'), vendor: 'openai', mark, facts }, requests, showOpenai);
}

function createAnthropic(
  request: SimulatorRequest,
  response: ServerResponse,
  jobs: Jobs,
  { formats, answer }: BatchOptions,
): void {
  const requests = listOf(objectOf(parseJson(request))['requests']).map((one) => {
    const { custom_id: customId, params } = objectOf(one);
    if (!CUSTOM_ID.test(stringOf(customId))) throw badRequest('custom_id: must match ^[a-zA-Z0-9_-]{1,64}$');
    if (objectOf(params)['stream'] === true) throw badRequest('params.stream: must not be true');
    return { customId: stringOf(customId), body: params, answer: () => answer(formats.messages, params, request) };
  });
  jobs.create(
    response,
    { id: newId('msgbatch_'), vendor: 'anthropic', mark: null, facts: {} },
    requests,
    showAnthropic,
  );
}

function createGoogle(
  request: SimulatorRequest,
  response: ServerResponse,
  jobs: Jobs,
  { formats, answer }: BatchOptions,
): void {
  const { display_name: mark, input_config: config } = objectOf(objectOf(parseJson(request))['batch']);
  if (stringOf(mark) === '') throw badRequest('batch.display_name: must be specified');
  const requests = listOf(objectOf(objectOf(config)['requests'])['requests']).map((one) => {
    const { request: body, metadata } = objectOf(one);
    const single = {
      ...request,
      url: new URL(`/v1beta/models/${request.parameters['model']}:generateContent`, request.url),
    };
    return { customId: stringOf(objectOf(metadata)['key']), body, answer: () => answer(formats.native, body, single) };
  });
  const id = newId('batches/');
  jobs.create(response, { id, vendor: 'google', mark: stringOf(mark), facts: {} }, requests, showGoogle);
}

function directivesOf(body: unknown): Directives {
  return parseDirectives(JSON.stringify(body) ?? '');
}

function hasEnded({ endsAtMs }: Job): boolean {
  return Date.now() >= endsAtMs;
}

interface Result {
  readonly customId: string;
  /** Null for a request that did not run. */
  readonly status: number | null;
  readonly body: unknown;
}

interface GarbledResult extends Result {
  readonly isGarbage: boolean;
}

/** The answers, with the faults of their lines. A job that was cancelled has answered half of its requests. */
function resultsOf({ lines, cancelledAtMs }: Job): readonly GarbledResult[] {
  const ran = cancelledAtMs === null ? lines.length : Math.floor(lines.length / 2);
  return lines.flatMap(({ customId, fault, answer }, index): readonly GarbledResult[] => {
    const isGarbage = fault === 'garbage';
    if (fault === 'expired' || index >= ran) return [{ customId, status: null, body: null, isGarbage }];
    const result = { customId, ...answer(), isGarbage };
    if (fault === 'missing') return [];
    if (fault === 'twice') return [result, result];
    return fault === 'stranger' ? [{ ...result, customId: 'stranger-1' }, result] : [result];
  });
}

function sendLines(
  response: ServerResponse,
  job: Job,
  results: readonly GarbledResult[],
  render: (result: Result) => object,
): void {
  const text = results
    .map((result) => `${result.isGarbage ? '{"custom_id": ' : JSON.stringify(render(result))}\n`)
    .join('');
  if (job.fault === 'cut' && job.downloads++ === 0) return sendCut(response, text);
  response.writeHead(200, { 'content-type': 'application/x-jsonl' });
  response.end(text);
}

/** The first half, after which the connection breaks. */
function sendCut(response: ServerResponse, text: string): void {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) });
  response.write(text.slice(0, text.length / 2), () => dropConnection(response));
}

function showOpenai(job: Job): object {
  const { id, facts, lines, fault, createdAtMs, cancelledAtMs } = job;
  const isRefused = fault === 'refused';
  const ended = cancelledAtMs === null ? 'completed' : 'cancelled';
  const status = isRefused ? 'failed' : hasEnded(job) ? ended : 'in_progress';
  const hasFiles = hasEnded(job) && !isRefused;
  return {
    ...facts,
    id,
    object: 'batch',
    status,
    errors: isRefused
      ? {
          object: 'list',
          data: [{ code: 'invalid_request', message: 'The batch is refused.', line: null, param: null }],
        }
      : null,
    output_file_id: hasFiles ? `${id}.output` : null,
    error_file_id: hasFiles ? `${id}.errors` : null,
    created_at: Math.floor(createdAtMs / 1000),
    expires_at: nowSeconds() + 86_400,
    request_counts: { total: lines.length, completed: 0, failed: 0 },
  };
}

function showAnthropic(job: Job): object {
  const { id, lines, createdAtMs, cancelledAtMs } = job;
  const { length: total } = lines;
  const isOver = hasEnded(job);
  return {
    id,
    type: 'message_batch',
    processing_status: isOver ? 'ended' : 'in_progress',
    request_counts: {
      processing: isOver ? 0 : total,
      succeeded: isOver ? total : 0,
      errored: 0,
      canceled: 0,
      expired: 0,
    },
    created_at: new Date(createdAtMs).toISOString(),
    cancel_initiated_at: cancelledAtMs === null ? null : new Date(cancelledAtMs).toISOString(),
    results_url: isOver ? `/v1/messages/batches/${id}/results` : null,
  };
}

function showGoogleWithoutAnswers(job: Job): {
  readonly name: string;
  readonly metadata: JsonObject;
  readonly done: boolean;
} {
  const { id, mark, fault, createdAtMs, cancelledAtMs } = job;
  const isOver = fault === 'refused' || hasEnded(job);
  const ended = fault === 'refused' ? 'FAILED' : cancelledAtMs === null ? 'SUCCEEDED' : 'CANCELLED';
  const state = `BATCH_STATE_${isOver ? ended : 'RUNNING'}`;
  return {
    name: id,
    metadata: { displayName: mark, state, createTime: new Date(createdAtMs).toISOString() },
    done: isOver,
  };
}

function showGoogle(job: Job): object {
  const shown = showGoogleWithoutAnswers(job);
  if (!shown.done) return shown;
  if (job.fault === 'refused') return { ...shown, error: { code: 3, message: 'The batch is refused.' } };
  const inlinedResponses = resultsOf(job).map(({ customId, status, body, isGarbage }) => ({
    metadata: isGarbage ? {} : { key: customId },
    ...(status === 200 ? { response: body } : { error: googleErrorOf(status, body) }),
  }));
  return { ...shown, response: { inlinedResponses: { inlinedResponses } } };
}

/** A status of google.rpc. */
function googleErrorOf(status: number | null, body: unknown): object {
  if (status === null) return { code: 1, message: 'The request was cancelled.' };
  const { message, status: name } = objectOf(objectOf(body)['error']);
  return { code: status === 429 ? 8 : status === 400 ? 3 : 13, message, status: name };
}
