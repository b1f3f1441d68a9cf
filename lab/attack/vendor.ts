/**
 * A malicious upstream, in three of the text formats. It keeps its own books of what it was made to produce, whether or
 * not anyone waited for it. The prompt says what it does: `[vendor:tokens=5000,drop]`.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { startReceiver } from '../../test/support/receiver.ts';

/** The cost of one request to the vendor. */
export interface VendorCall {
  readonly model: string;
  inputTokens: number;
  outputTokens: number;
}

export interface Vendor {
  readonly url: string;
  /** In the order in which they came. */
  readonly calls: readonly VendorCall[];
  /** Begins a new page of the books. */
  forget(): void;
  close(): Promise<void>;
}

interface Order {
  readonly tokens: number;
  readonly hidden: number;
  readonly input: number;
  readonly chunk: number;
  readonly pauseMs: number;
  readonly tailMs: number;
  readonly choices: number;
  readonly stream: boolean;
  readonly text: string | null;
  readonly reportedOutput: number;
  readonly drops: boolean;
  readonly pieces: number;
}

/** How a format says things. */
interface Dialect {
  readonly head: (order: Order) => readonly string[];
  readonly piece: (text: string, choice: number) => string;
  readonly tail: (text: string, order: Order) => readonly string[];
  readonly end: (text: string, order: Order) => readonly string[];
  readonly whole: (text: string, order: Order) => object;
}

export async function startVendor(): Promise<Vendor> {
  const calls: VendorCall[] = [];
  const server = await startReceiver((request, response) => {
    serve(request, response, calls).catch(() => response.destroy());
  });
  return { url: server.url, calls, forget: () => void calls.splice(0), close: () => server.close() };
}

async function serve(request: IncomingMessage, response: ServerResponse, calls: VendorCall[]): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(Buffer.from(chunk));
  const body = Buffer.concat(chunks).toString('utf8');
  const path = request.url ?? '';
  const order = readOrder(body, path);
  const dialect = dialectOf(path);
  const model = /"model":"([^"]+)"/.exec(body)?.[1] ?? /models\/([^:]+):/.exec(path)?.[1] ?? '';
  const call: VendorCall = { model: decodeURIComponent(model), inputTokens: order.input, outputTokens: order.hidden };
  calls.push(call);
  if (!order.stream) {
    call.outputTokens += order.tokens * order.choices;
    await sleep(order.tailMs);
    const whole = JSON.stringify(dialect.whole(saying(order), order));
    response.writeHead(200, { 'content-type': 'application/json' }).end(whole);
    return;
  }
  await stream(response, order, dialect, call);
}

async function stream(response: ServerResponse, order: Order, dialect: Dialect, call: VendorCall): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const frame of dialect.head(order)) response.write(frame);
  let said = '';
  let produced = 0;
  for (const text of portions(order)) {
    if (response.destroyed) return;
    for (let choice = 0; choice < order.choices; choice += 1) response.write(dialect.piece(text, choice));
    said += text;
    const tokens = Math.min(order.chunk, order.tokens - produced);
    produced += tokens;
    call.outputTokens += tokens * order.choices;
    if (order.pauseMs > 0) await sleep(order.pauseMs);
    else if (response.writableNeedDrain) await drained(response);
  }
  if (order.pieces > 0) await sendInPieces(response, dialect.piece('y'.repeat(order.pieces * 1024), 0));
  for (const frame of dialect.tail(said, order)) response.write(frame);
  await sleep(order.tailMs);
  if (order.drops) return void response.destroy();
  for (const frame of dialect.end(said, order)) response.write(frame);
  response.end();
}

async function sendInPieces(response: ServerResponse, frame: string): Promise<void> {
  for (let at = 0; at < frame.length && !response.destroyed; at += 1024) {
    if (!response.write(frame.slice(at, at + 1024))) await drained(response);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Resolves when more may be written, or the client is gone. */
function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      response.off('drain', done).off('close', done);
      resolve();
    };
    response.once('drain', done).once('close', done);
    if (response.destroyed) done();
  });
}

function readOrder(body: string, path: string): Order {
  const said = /\[vendor:([^\]]*)\]/.exec(body)?.[1] ?? '';
  const words = new Map(
    said.split(',').map((pair): [string, string] => [pair.split('=')[0] ?? '', pair.split('=')[1] ?? '']),
  );
  const number = (name: string, otherwise: number): number => Number(words.get(name) ?? otherwise);
  const bound = /"(?:max_tokens|max_completion_tokens|max_output_tokens|maxOutputTokens)":(\d+)/.exec(body)?.[1];
  const choices = Number(/"(?:n|candidateCount)":(\d+)/.exec(body)?.[1] ?? 1);
  const limit = bound === undefined ? Infinity : Number(bound);
  const hidden = Math.min(number('hidden', 0), limit);
  const tokens = Math.min(number('tokens', 10), limit - hidden);
  const text = words.get('text') ?? null;
  return {
    tokens,
    hidden,
    input: number('input', 10),
    chunk: text === null ? number('chunk', 50) : tokens / text.length,
    pauseMs: number('pause_ms', 0),
    tailMs: number('tail_ms', 0),
    choices,
    stream: /"stream":true/.test(body) || path.includes(':streamGenerateContent'),
    text,
    reportedOutput: number('usage', hidden + tokens * choices),
    drops: words.has('drop'),
    pieces: number('pieces', 0),
  };
}

/** A word of one token. */
const WORD = ' word';

function saying({ text, tokens }: Order): string {
  return text ?? WORD.repeat(tokens);
}

function* portions({ text, tokens, chunk }: Order): Generator<string> {
  if (text !== null) {
    yield* text;
    return;
  }
  for (let left = tokens; left > 0; left -= chunk) yield WORD.repeat(Math.min(chunk, left));
}

function dialectOf(path: string): Dialect {
  if (path.endsWith('/chat/completions')) return CHAT;
  return path.endsWith('/responses') ? RESPONSES : NATIVE;
}

function data(value: object): string {
  return `data: ${JSON.stringify(value)}\n\n`;
}

function event(value: { type: string } & Readonly<Record<string, unknown>>): string {
  return `event: ${value.type}\n${data(value)}`;
}

const CHUNK = { id: 'chatcmpl-attack', object: 'chat.completion.chunk', created: 1, model: 'any' };

function choiceNumbers({ choices }: Order): readonly number[] {
  return Array.from({ length: choices }, (_, index) => index);
}

function chatUsage({ input, reportedOutput }: Order): object {
  return { prompt_tokens: input, completion_tokens: reportedOutput, total_tokens: input + reportedOutput };
}

const CHAT: Dialect = {
  head: (order) =>
    choiceNumbers(order).map((index) =>
      data({ ...CHUNK, choices: [{ index, delta: { role: 'assistant', content: '' }, finish_reason: null }] }),
    ),
  piece: (content, index) => data({ ...CHUNK, choices: [{ index, delta: { content }, finish_reason: null }] }),
  tail: () => [],
  end: (_, order) => [
    ...choiceNumbers(order).map((index) => data({ ...CHUNK, choices: [{ index, delta: {}, finish_reason: 'stop' }] })),
    data({ ...CHUNK, choices: [], usage: chatUsage(order) }),
    'data: [DONE]\n\n',
  ],
  whole: (content, order) => ({
    ...CHUNK,
    object: 'chat.completion',
    choices: choiceNumbers(order).map((index) => ({
      index,
      message: { role: 'assistant', content },
      finish_reason: 'stop',
    })),
    usage: chatUsage(order),
  }),
};

const RESPONSE = { id: 'resp_attack', object: 'response', created_at: 1, model: 'any' };
const AT = { item_id: 'msg_attack', output_index: 0, content_index: 0 };

function messageItem(text: string): object {
  return {
    id: 'msg_attack',
    type: 'message',
    role: 'assistant',
    status: 'completed',
    content: [{ type: 'output_text', text, annotations: [] }],
  };
}

function responsesWhole(text: string, { input, hidden, reportedOutput }: Order): object {
  return {
    ...RESPONSE,
    status: 'completed',
    output: [messageItem(text)],
    usage: {
      input_tokens: input,
      output_tokens: reportedOutput,
      output_tokens_details: { reasoning_tokens: hidden },
      total_tokens: input + reportedOutput,
    },
  };
}

const RESPONSES: Dialect = {
  head: () => [
    event({
      type: 'response.created',
      sequence_number: 0,
      response: { ...RESPONSE, status: 'in_progress', output: [] },
    }),
    event({
      type: 'response.output_item.added',
      sequence_number: 1,
      output_index: 0,
      item: { id: 'msg_attack', type: 'message', role: 'assistant', status: 'in_progress', content: [] },
    }),
    event({
      type: 'response.content_part.added',
      sequence_number: 2,
      ...AT,
      part: { type: 'output_text', text: '', annotations: [] },
    }),
  ],
  piece: (delta) => event({ type: 'response.output_text.delta', sequence_number: 3, ...AT, delta }),
  tail: (text) => [
    event({ type: 'response.output_text.done', sequence_number: 4, ...AT, text }),
    event({
      type: 'response.content_part.done',
      sequence_number: 5,
      ...AT,
      part: { type: 'output_text', text, annotations: [] },
    }),
    event({ type: 'response.output_item.done', sequence_number: 6, output_index: 0, item: messageItem(text) }),
  ],
  end: (text, order) => [
    event({ type: 'response.completed', sequence_number: 7, response: responsesWhole(text, order) }),
  ],
  whole: responsesWhole,
};

function candidates(text: string, index: number, finished: boolean): object {
  return {
    candidates: [{ index, content: { role: 'model', parts: [{ text }] }, ...(finished && { finishReason: 'STOP' }) }],
  };
}

function nativeUsage({ input, hidden, reportedOutput }: Order): object {
  return {
    usageMetadata: {
      promptTokenCount: input,
      candidatesTokenCount: reportedOutput - hidden,
      thoughtsTokenCount: hidden,
      totalTokenCount: input + reportedOutput,
    },
  };
}

const NATIVE: Dialect = {
  head: () => [],
  piece: (text, index) => data(candidates(text, index, false)),
  tail: () => [],
  end: (_, order) => [data({ ...candidates('', 0, true), ...nativeUsage(order) })],
  whole: (text, order) => ({
    candidates: choiceNumbers(order).map((index) => ({
      index,
      content: { role: 'model', parts: [{ text }] },
      finishReason: 'STOP',
    })),
    ...nativeUsage(order),
  }),
};
