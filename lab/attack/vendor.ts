/**
 * A malicious upstream, which answers as the simulator does. It counts everything that it generates, even if no client
 * waits for it. The prompt controls it: `[vendor:tokens=5000,drop]`.
 */
import { createServer, type ServerResponse } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { listenLocally } from '../stack/local-server.ts';
import { callRoutes } from '../../simulator/realtime/calls.ts';
import { createRealtimeUpgrades, type RealtimeUpgrades } from '../../simulator/realtime/upgrade.ts';
import { createRouter, parseJson, route, type SimulatorRequest } from '../../simulator/router.ts';
import { chatCompletions } from '../../simulator/text/chat-completions.ts';
import type { Conversation } from '../../simulator/text/conversation.ts';
import type { SimulatedFormat, StreamedAnswer } from '../../simulator/text/format.ts';
import { generateContent } from '../../simulator/text/generate-content.ts';
import { messages } from '../../simulator/text/messages.ts';
import { PacedWriter } from '../../simulator/text/paced-writer.ts';
import { responses } from '../../simulator/text/responses.ts';
import type { Script } from '../../simulator/text/script.ts';
import { speech } from '../../simulator/text/speech.ts';
import { transcriptions } from '../../simulator/text/transcriptions.ts';

/** The cost of one request to the vendor. */
export interface VendorCall {
  readonly model: string;
  inputTokens: number;
  outputTokens: number;
}

export interface Vendor {
  readonly url: string;
  /** In order of arrival. */
  readonly calls: readonly VendorCall[];
  /** Sessions as of the simulator. */
  readonly realtime: Pick<RealtimeUpgrades, 'finished' | 'calls'>;
  /** Resets the count. */
  forget(): void;
  close(): Promise<void>;
}

interface Order {
  /** The content of each choice, and the number of tokens of each of its pieces. */
  readonly pieces: readonly string[];
  readonly pieceTokens: number;
  /** The tokens of one choice. */
  readonly tokens: number;
  readonly hidden: number;
  readonly input: number;
  /** The tokens of output in the usage. */
  readonly reported: number;
  readonly pauseMs: number;
  readonly tailMs: number;
  readonly drops: boolean;
}

const FORMATS: readonly SimulatedFormat[] = [
  chatCompletions,
  responses,
  messages,
  generateContent,
  speech,
  transcriptions,
];

export async function startVendor(): Promise<Vendor> {
  const calls: VendorCall[] = [];
  const routes = FORMATS.flatMap((format) =>
    format.paths.map((path) => route('POST', path, (request, response) => serve(format, request, response, calls))),
  );
  const realtime = createRealtimeUpgrades(undefined);
  const http = createServer(createRouter([...routes, ...callRoutes(undefined, realtime.calls)], () => {}));
  http.on('upgrade', (request, socket, head) => realtime.accept(request, socket, head));
  const server = await listenLocally(http);
  const close = async (): Promise<void> => {
    realtime.close();
    await server.close();
  };
  return { url: server.url, calls, realtime, forget: () => void calls.splice(0), close };
}

async function serve(
  format: SimulatedFormat,
  request: SimulatorRequest,
  response: ServerResponse,
  calls: VendorCall[],
): Promise<void> {
  const exchange = format.open(format.readBody?.(request) ?? parseJson(request), request);
  const { model, choiceCount, stream } = exchange.conversation;
  const order = readOrder(request.body.toString('utf8'), exchange.conversation);
  const call: VendorCall = { model, inputTokens: order.input, outputTokens: order.hidden };
  calls.push(call);
  const produce = (tokens: number): void => void (call.outputTokens += tokens * choiceCount);
  const writer = new PacedWriter(response, request.notes);
  const script = scriptOf(order);
  if (stream) {
    const contentType = exchange.file?.contentType ?? format.contentTypes.stream;
    writer.start(200, { 'content-type': contentType }, exchange.file === undefined ? 'utf8' : 'latin1');
    return send(exchange.renderStream(script), order, writer, produce);
  }
  produce(order.tokens);
  await writer.pause(order.tailMs);
  writer.send(200, { 'content-type': format.contentTypes.whole }, JSON.stringify(exchange.renderWhole(script)));
}

/** The event after which only the end follows, where the format has one. */
const LAST_EVENT = 'event: response.completed';

async function send(
  answer: StreamedAnswer,
  { tokens, pieceTokens, pauseMs, tailMs, drops }: Order,
  writer: PacedWriter,
  produce: (tokens: number) => void,
): Promise<void> {
  writer.add(answer.opening);
  let left = tokens;
  for (const chunk of answer.chunks) {
    if (!writer.isOpen) return;
    await write(chunk, writer);
    produce(Math.min(pieceTokens, left));
    left -= Math.min(pieceTokens, left);
    await writer.pause(pauseMs);
  }
  const closing = answer.closing();
  const end = Math.max(closing.indexOf(LAST_EVENT), 0);
  writer.add(closing.slice(0, end));
  await writer.pause(tailMs);
  if (drops) return writer.drop();
  writer.add(closing.slice(end));
  writer.end();
}

const PIECE_LENGTH = 1024;
const LARGE_LENGTH = 1024 * PIECE_LENGTH;

/** Large events are sent in small pieces. */
async function write(event: string, writer: PacedWriter): Promise<void> {
  const length = event.length < LARGE_LENGTH ? event.length : PIECE_LENGTH;
  for (let at = 0; at < event.length && writer.isOpen; at += length) {
    writer.add(event.slice(at, at + length));
    await writer.flush();
    if (length < event.length) await nextTurn();
  }
}

/** A word of one token. */
const WORD = ' word';

function readOrder(body: string, { maxOutputTokens = Infinity, choiceCount }: Conversation): Order {
  const said = /\[vendor:([^\]]*)\]/.exec(body)?.[1] ?? '';
  const directives = new Map(
    said.split(',').map((pair): [string, string] => [pair.split('=')[0] ?? '', pair.split('=')[1] ?? '']),
  );
  const number = (name: string, otherwise: number): number => Number(directives.get(name) ?? otherwise);
  const hidden = Math.min(number('hidden', 0), maxOutputTokens);
  const tokens = Math.min(number('tokens', 10), maxOutputTokens - hidden);
  const chunk = number('chunk', 50);
  const text = directives.get('text');
  const padding = 'y'.repeat(number('pieces', 0) * PIECE_LENGTH);
  const pieces = text === undefined ? wordsOf(tokens, chunk) : Array.from(text);
  return {
    pieces: padding === '' ? pieces : [...pieces, padding],
    pieceTokens: text === undefined ? chunk : tokens / text.length,
    tokens,
    hidden,
    input: number('input', 10),
    reported: number('usage', hidden + tokens * choiceCount),
    pauseMs: number('pause_ms', 0),
    tailMs: number('tail_ms', 0),
    drops: directives.has('drop'),
  };
}

function wordsOf(tokens: number, chunk: number): readonly string[] {
  return Array.from({ length: Math.ceil(tokens / chunk) }, (_, index) =>
    WORD.repeat(Math.min(chunk, tokens - index * chunk)),
  );
}

function scriptOf({ pieces, input, reported, hidden }: Order): Script {
  return {
    reasoning: [],
    text: pieces,
    calls: [],
    searches: [],
    finish: { reason: 'stop' },
    usage: { input, cached: 0, output: reported, reasoning: hidden, audioInput: 0, audioOutput: 0 },
    mark: undefined,
    faults: { delayMs: 0, chunkMs: 0, failure: null, failAfter: null, dropAfter: null, malformedAfter: null },
  };
}
