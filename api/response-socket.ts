/**
 * A connection for responses over a WebSocket: contract 4.8.2. Each `response.create` is an ordinary request of this
 * process to itself, so that nothing that holds for requests can be missed.
 */
import { type ClientRequest, type IncomingHttpHeaders, type IncomingMessage, request as httpRequest } from 'node:http';
import { text as readText } from 'node:stream/consumers';
import { badRequest, ServiceError, toServiceError } from '../domain/errors.ts';
import { newId } from '../domain/ids.ts';
import { isObject, type JsonObject, listOf, objectOf } from '../domain/json.ts';
import { BODIES, RESPONSE_SOCKETS } from '../domain/policy.ts';
import { parseJson } from '../text/json/parse.ts';
import { JsonSizer } from '../text/json/size.ts';
import { byteLengthOf, writeJson, type WrittenJson } from '../text/json/write.ts';
import {
  continueConversation,
  errorEvent,
  finishedResponseIn,
  isLastEvent,
  preparedEvents,
  readSocketRequest,
  refusedEvent,
  type SocketRequest,
} from '../text/responses/socket-messages.ts';
import { inputItemsOf } from '../text/responses/stored.ts';
import { parseServerSentEvents, type ServerSentEvent } from '../text/sse.ts';
import type { Peer } from '../services/realtime/peer.ts';
import type { Upgrade } from './http-server.ts';
import { connectLocally } from './local-connection.ts';

/** The memory that conversations of all connections share. */
export interface ConversationMemory {
  bytes: number;
}

/** The latest conversation of a connection, as the JSON of its items. */
interface Conversation {
  readonly responseId: string;
  readonly items: Buffer;
}

/** How often a connection is checked. */
const CHECK_MS = 20_000;
/** The close codes of RFC 6455, section 7.4.1. */
const CLOSE = { normal: 1000, goingAway: 1001, failed: 1011 } as const;
/** Headers of the upgrade that do not belong to requests over its connection. */
const OWN_HEADERS = /^(?:connection|upgrade|sec-websocket-|content-|transfer-encoding$|accept|expect$|keep-alive$|te$)/;

export class ResponseSocket {
  /** Resolves when the connection is closed and its last request is over. */
  readonly ended: Promise<void>;
  readonly #peer: Peer;
  readonly #headers: IncomingHttpHeaders;
  readonly #upgrade: Upgrade;
  readonly #memory: ConversationMemory;
  readonly #openedAtMs = performance.now();
  #activeAtMs = performance.now();
  #conversation: Conversation | null = null;
  #running: Promise<void> | null = null;
  #request: ClientRequest | null = null;
  #resolveEnded: () => void = () => undefined;

  constructor(peer: Peer, headers: IncomingHttpHeaders, upgrade: Upgrade, memory: ConversationMemory) {
    this.#peer = peer;
    this.#headers = Object.fromEntries(Object.entries(headers).filter(([name]) => !OWN_HEADERS.test(name)));
    this.#upgrade = upgrade;
    this.#memory = memory;
    this.ended = new Promise((resolve) => {
      this.#resolveEnded = resolve;
    });
  }

  start(): void {
    const checks = setInterval(() => this.#check(), CHECK_MS).unref();
    const stop = (): void => void this.#endAfterRequest(CLOSE.goingAway);
    this.#upgrade.stopping.addEventListener('abort', stop);
    this.#peer.listen(
      (message) => this.#receive(message),
      () => {
        clearInterval(checks);
        this.#upgrade.stopping.removeEventListener('abort', stop);
        // Like a client that closes the connection of an ordinary request.
        this.#request?.destroy();
        this.#keep(null);
        void (this.#running ?? Promise.resolve()).then(this.#resolveEnded);
      },
      (error) => this.#end(toServiceError(error), CLOSE.failed),
    );
  }

  /** Serves one request at a time. While one runs, the next waits, and no further message is read. */
  #receive(message: Buffer): void | Promise<void> {
    if (this.#running !== null) return this.#running.then(() => this.#receive(message));
    this.#running = this.#serve(message).finally(() => {
      this.#running = null;
      this.#activeAtMs = performance.now();
    });
    return undefined;
  }

  async #serve(message: Buffer): Promise<void> {
    try {
      if (this.#isTooOld()) return this.#end(tooOld());
      const request = readSocketRequest(await parseMessage(message));
      const items = await this.#itemsBefore(request.previousId);
      const body = items === null ? request.body : continueConversation(request.body, items);
      if (request.isAnswered) await this.#answer(body);
      else await this.#prepare(request, body);
    } catch (error) {
      this.#send(errorEvent(toServiceError(error)));
    }
  }

  /** The conversation up to a response, if it is the latest of this connection. */
  async #itemsBefore(responseId: string | null): Promise<readonly unknown[] | null> {
    const conversation = this.#conversation;
    if (responseId === null || conversation?.responseId !== responseId) return null;
    return listOf(await parseJson(conversation.items));
  }

  /** Keeps the input, so that a later request can continue it. */
  async #prepare({ body: { model } }: SocketRequest, body: JsonObject): Promise<void> {
    const id = `resp_${newId('request').slice('req_'.length)}`;
    await this.#remember(id, inputItemsOf(body));
    for (const event of preparedEvents(id, { model }, Math.floor(Date.now() / 1000))) this.#send(event);
  }

  /** Makes the request, and passes the events of its answer on. */
  async #answer(body: JsonObject): Promise<void> {
    const written = await writeJson(body);
    // Nobody would read the answer to a client that left while its message was read.
    if (!this.#peer.isOpen) return;
    const answer = await this.#post(written);
    if (answer.statusCode !== 200) return this.#passRefusal(answer);
    const response = finishedResponseIn(await this.#passEvents(answer));
    if (response === null) return;
    const { id } = response;
    if (typeof id === 'string') await this.#remember(id, [...inputItemsOf(body), ...listOf(response['output'])]);
  }

  #post(body: WrittenJson): Promise<IncomingMessage> {
    const { client, server } = connectLocally(this.#upgrade.socket.remoteAddress);
    const headers = {
      ...this.#headers,
      'content-type': 'application/json',
      'content-length': byteLengthOf(body),
      connection: 'close',
    };
    const request = httpRequest({ method: 'POST', path: '/v1/responses', headers, createConnection: () => client });
    this.#request = request;
    this.#upgrade.serve(server);
    return new Promise((resolve, reject) => {
      request.once('response', resolve);
      // Also after the answer to a body that was refused before its end.
      request.on('error', () => reject(brokenOff()));
      for (const piece of typeof body === 'string' ? [body] : body) request.write(piece);
      request.end();
    });
  }

  /** @returns the last event of the answer. @throws ServiceError if the answer ends without it */
  async #passEvents(answer: IncomingMessage): Promise<JsonObject> {
    const parser = parseServerSentEvents();
    let last: string | null = null;
    let sent = Promise.resolve();
    const pass = ({ data }: ServerSentEvent): void => {
      if (data === '') return;
      if (MAY_BE_LAST.test(data)) last = data;
      sent = this.#peer.deliver(data);
    };
    try {
      for await (const chunk of answer) {
        parser.push(chunk, pass);
        await sent;
      }
    } catch {
      throw brokenOff();
    }
    const event = last === null ? null : await parseJson(Buffer.from(last));
    if (!isObject(event) || !isLastEvent(event)) throw brokenOff();
    return event;
  }

  async #passRefusal(answer: IncomingMessage): Promise<void> {
    const { statusCode = 500, headers } = answer;
    const body: unknown = await parseJson(Buffer.from(await readText(answer)));
    const shown = SHOWN_HEADERS.flatMap((name) =>
      headers[name] === undefined ? [] : [[name, headers[name]] as const],
    );
    this.#send(refusedEvent(statusCode, objectOf(body), Object.fromEntries(shown)));
  }

  /** Keeps the conversation in the place of the one before, unless it needs too much memory. */
  async #remember(responseId: string, conversation: readonly unknown[]): Promise<void> {
    const written = await writeJson(conversation);
    const items = typeof written === 'string' ? Buffer.from(written) : Buffer.concat(written);
    this.#keep({ responseId, items });
  }

  #keep(conversation: Conversation | null): void {
    const { ofConnection, ofProcess } = RESPONSE_SOCKETS.conversationBytes;
    this.#memory.bytes -= this.#conversation?.items.byteLength ?? 0;
    const bytes = conversation?.items.byteLength ?? 0;
    const hasRoom = this.#peer.isOpen && bytes <= ofConnection && this.#memory.bytes + bytes <= ofProcess;
    this.#conversation = hasRoom ? conversation : null;
    if (hasRoom) this.#memory.bytes += bytes;
  }

  #send(event: JsonObject): void {
    this.#peer.send(JSON.stringify(event));
  }

  #isTooOld(): boolean {
    return performance.now() - this.#openedAtMs >= RESPONSE_SOCKETS.maxSeconds * 1000;
  }

  /** Ends a connection whose client is gone or whose time is over. */
  #check(): void {
    if (!this.#peer.ping()) return this.#peer.terminate();
    if (this.#running !== null) return;
    if (this.#isTooOld()) return this.#end(tooOld());
    if (performance.now() - this.#activeAtMs >= RESPONSE_SOCKETS.idleMs) this.#peer.close(CLOSE.normal, 'idle');
  }

  #end(error: ServiceError, code: number = CLOSE.normal): void {
    this.#send(errorEvent(error));
    this.#peer.close(code);
  }

  async #endAfterRequest(code: number): Promise<void> {
    await this.#running;
    this.#peer.close(code);
  }
}

const MAY_BE_LAST = /"type"\s*:\s*"(?:response\.(?:completed|incomplete|failed)|error)"/;
const SHOWN_HEADERS = ['x-request-id', 'retry-after'];

/** @throws ServiceError `bad_request` */
async function parseMessage(message: Buffer): Promise<unknown> {
  new JsonSizer(BODIES.text).push(message);
  try {
    return await parseJson(message);
  } catch (error) {
    throw error instanceof SyntaxError ? badRequest('A message must be valid JSON.') : error;
  }
}

function tooOld(): ServiceError {
  const message =
    'The connection has reached its limit of 60 minutes. Open a new one, and send the whole conversation.';
  return new ServiceError('bad_request', message, { formatCode: 'websocket_connection_limit_reached' });
}

function brokenOff(): ServiceError {
  return new ServiceError('processing_failed', 'The answer broke off. Send the request again.');
}
