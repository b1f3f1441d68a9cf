/** The shapes of batches that clients of a drill create: each is a row of {@link BATCH_SHAPES}. */
import Joi from 'joi';
import { type Answer, ask } from '../../stack/client.ts';
import { NATIVE_MODELS } from './native-routes.ts';

/** A request of a batch. */
export interface BatchLine {
  readonly customId: string;
  readonly prompt: string;
}

/** A line of the files of a batch. */
export interface BatchResult {
  readonly customId: string;
  readonly outcome: 'succeeded' | 'failed' | 'cancelled' | 'expired';
  /** How often the line was started; null where the files do not tell. */
  readonly attempt: number | null;
}

/** The process that a client calls, and the client's key. */
export interface BatchApi {
  readonly url: string;
  readonly apiKey: string;
}

/** `text`: direct requests. `native`: jobs of a vendor's batch API. `tasks`: media tasks, which take longer than texts. */
type LineKind = 'text' | 'native' | 'tasks';

export interface BatchShape {
  /** Also in the metadata of its batches, if they have any. */
  readonly name: string;
  readonly kind: LineKind;
  /** @returns the id of the batch @throws Error if there is no good answer */
  create(api: BatchApi, lines: readonly BatchLine[]): Promise<string>;
  cancel(api: BatchApi, id: string): Promise<void>;
  /** @returns a result for each line of the files of a batch that has ended; null before @throws as `create` */
  read(api: BatchApi, id: string): Promise<readonly BatchResult[] | null>;
}

/** The server does not have the batch. */
export class UnknownBatchError extends Error {}

/** @throws Error for another answer than 2xx */
async function call({ url, apiKey }: BatchApi, path: string, more: Parameters<typeof ask>[1]): Promise<Answer> {
  const answer = await ask(url + path, { token: apiKey, ...more });
  if (answer.status === 404) throw new UnknownBatchError(path);
  if (answer.status >= 300) throw new Error(`${path} was answered ${answer.status}: ${answer.text.slice(0, 200)}`);
  return answer;
}

/** Parses JSON with these fields, beside any others. */
function readAs<Value>(text: string, schema: Joi.ObjectSchema<Value>): Value {
  return Joi.attempt(JSON.parse(text), schema.unknown());
}

function linesOf<Line>(text: string, schema: Joi.ObjectSchema<Line>): readonly Line[] {
  return text.split('\n').flatMap((line) => (line === '' ? [] : [readAs(line, schema)]));
}

const CREATED = Joi.object<{ id: string }>({ id: Joi.string().required() });

interface FileBatch {
  readonly output_file_id: string | null;
  readonly error_file_id: string | null;
  readonly status: string;
}

const FILE = Joi.string().required().allow(null);
const FILE_BATCH = Joi.object<FileBatch>({ status: Joi.string(), output_file_id: FILE, error_file_id: FILE });
const FILE_ENDINGS: readonly string[] = ['completed', 'failed', 'expired', 'cancelled'];

interface FileLine {
  readonly custom_id: string;
  readonly attempt: number;
  readonly response: { readonly status_code: number } | null;
  readonly error: { readonly code: string } | null;
}

const FILE_LINE = Joi.object<FileLine>({
  custom_id: Joi.string().required(),
  attempt: Joi.number().required(),
  response: Joi.object({ status_code: Joi.number().required() }).unknown().required().allow(null),
  error: Joi.object({ code: Joi.string().required() }).unknown().required().allow(null),
});

/** The outcome of a line in the error file. */
function outcomeOf({ response, error }: FileLine): BatchResult['outcome'] {
  if (response !== null) return 'failed';
  return error?.code === 'batch_expired' ? 'expired' : 'cancelled';
}

/** A request that uploads the input of a batch. */
async function upload(input: string): Promise<{ readonly body: Buffer; readonly headers: Record<string, string> }> {
  const form = new FormData();
  form.set('purpose', 'batch');
  form.set('file', new Blob([input]), 'in.jsonl');
  const encoded = new Response(form);
  const type = encoded.headers.get('content-type') ?? '';
  return { body: Buffer.from(await encoded.arrayBuffer()), headers: { 'content-type': type } };
}

/** Batches of OpenAI's API, from a file with requests to one endpoint. */
function fileShape(
  { name, kind, endpoint }: Pick<BatchShape, 'name' | 'kind'> & { readonly endpoint: string },
  bodyOf: (prompt: string) => object,
): BatchShape {
  return {
    name,
    kind,
    create: async (api, lines) => {
      const texts = lines.map(({ customId, prompt }) =>
        JSON.stringify({ custom_id: customId, method: 'POST', url: endpoint, body: bodyOf(prompt) }),
      );
      const { id } = readAs((await call(api, '/v1/files', await upload(texts.join('\n')))).text, CREATED);
      const body = { input_file_id: id, endpoint, completion_window: '24h', metadata: { shape: name } };
      return readAs((await call(api, '/v1/batches', { body })).text, CREATED).id;
    },
    cancel: async (api, id) => void (await call(api, `/v1/batches/${id}/cancel`, { body: {} })),
    read: async (api, id) => {
      const batch = readAs((await call(api, `/v1/batches/${id}`, {})).text, FILE_BATCH);
      if (!FILE_ENDINGS.includes(batch.status)) return null;
      const [answers, others] = await Promise.all([
        readFileLines(api, batch.output_file_id),
        readFileLines(api, batch.error_file_id),
      ]);
      return [
        ...answers.map((line) => ({ ...resultOf(line), outcome: 'succeeded' as const })),
        ...others.map((line) => ({ ...resultOf(line), outcome: outcomeOf(line) })),
      ];
    },
  };
}

function resultOf({ custom_id: customId, attempt }: FileLine): Pick<BatchResult, 'customId' | 'attempt'> {
  return { customId, attempt };
}

async function readFileLines(api: BatchApi, file: string | null): Promise<readonly FileLine[]> {
  return file === null ? [] : linesOf((await call(api, `/v1/files/${file}/content`, {})).text, FILE_LINE);
}

interface MessageLine {
  readonly custom_id: string;
  readonly result: { readonly type: 'succeeded' | 'errored' | 'canceled' | 'expired' };
}

const MESSAGE_BATCH = Joi.object<{ processing_status: string }>({ processing_status: Joi.string().required() });
const MESSAGE_LINE = Joi.object<MessageLine>({
  custom_id: Joi.string().required(),
  result: Joi.object({ type: Joi.string().valid('succeeded', 'errored', 'canceled', 'expired').required() })
    .unknown()
    .required(),
});
const MESSAGE_OUTCOMES = {
  succeeded: 'succeeded',
  errored: 'failed',
  canceled: 'cancelled',
  expired: 'expired',
} as const;

/** Batches of Anthropic's API, with the requests in the body. */
export const MESSAGES: BatchShape = {
  name: 'messages',
  kind: 'text',
  create: async (api, lines) => {
    const requests = lines.map(({ customId, prompt }) => ({
      custom_id: customId,
      params: { model: 'textj-4.7', max_tokens: 200, messages: [{ role: 'user', content: prompt }] },
    }));
    return readAs((await call(api, '/v1/messages/batches', { body: { requests } })).text, CREATED).id;
  },
  cancel: async (api, id) => void (await call(api, `/v1/messages/batches/${id}/cancel`, { body: {} })),
  read: async (api, id) => {
    const { text } = await call(api, `/v1/messages/batches/${id}`, {});
    if (readAs(text, MESSAGE_BATCH).processing_status !== 'ended') return null;
    const results = await call(api, `/v1/messages/batches/${id}/results`, {});
    return linesOf(results.text, MESSAGE_LINE).map(({ custom_id: customId, result }) => ({
      customId,
      outcome: MESSAGE_OUTCOMES[result.type],
      attempt: null,
    }));
  },
};

function chatShape(name: string, kind: LineKind, model: string): BatchShape {
  return fileShape({ name, kind, endpoint: '/v1/chat/completions' }, (prompt) => ({
    model,
    messages: [{ role: 'user', content: prompt }],
  }));
}

export const BATCH_SHAPES: readonly BatchShape[] = [
  chatShape('chat', 'text', 'textd-v2.5'),
  MESSAGES,
  ...NATIVE_MODELS.map(({ vendor, model }) => chatShape(`${vendor} jobs`, 'native', model)),
  fileShape({ name: 'media', kind: 'tasks', endpoint: '/v1/images/tasks' }, (prompt) => ({
    model: 'imagea-2.5-sunburst',
    prompt,
  })),
];
