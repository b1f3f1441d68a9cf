/** A gateway of one wire format without a model, for the SDK of the format's vendor. */
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type AnswerPart, type Choice, type TextRequest, UNREPORTED_USAGE } from '../../text/canonical.ts';
import type { ParseContext, WireFormat } from '../../text/wire-format.ts';
import { eventsOf } from './answers.ts';
import { renderContext, streamedTo, textResult } from './support.ts';

type Respond = (response: ServerResponse, request: TextRequest) => void;

export const usage = { ...UNREPORTED_USAGE, inputTotal: 30, cacheRead: 20, outputTotal: 9, reasoning: 4 };
export const reasoning: AnswerPart = { type: 'reasoning', text: 'Look twice.', signature: 'c2ln' };

export function toolCall(callId: string, text: string, name = 'look'): AnswerPart {
  return { type: 'tool-call', callId, name, arguments: text };
}

/** A server that answers each request as the test last set. Each test of the suite starts a new one. */
export class SdkGateway {
  readonly requests: TextRequest[] = [];
  readonly headers: IncomingHttpHeaders[] = [];
  readonly #format: WireFormat;
  readonly #addressOf: (url: string) => ParseContext;
  readonly #server = createServer((request, response) => void this.#serve(request, response));
  #respond: Respond = (response) => response.destroy();

  /** To be called inside a `describe`. */
  constructor(format: WireFormat, addressOf: (url: string) => ParseContext = () => ({})) {
    this.#format = format;
    this.#addressOf = addressOf;
    beforeEach(async () => {
      this.requests.length = 0;
      this.headers.length = 0;
      this.#server.listen(0, '127.0.0.1');
      await once(this.#server, 'listening');
    });
    afterEach(() => {
      this.#server.close();
      this.#server.closeAllConnections();
    });
  }

  get url(): string {
    // A socket that listens on TCP has an address object.
    const { port } = this.#server.address() as AddressInfo;
    return `http://127.0.0.1:${port}`;
  }

  respond(respond: Respond): void {
    this.#respond = respond;
  }

  /** Answers with JSON, or with the events of a stream on request. */
  answer(bytes: string | ((request: TextRequest) => string), status = 200): void {
    this.respond((response, request) => {
      const type = request.stream && status === 200 ? 'text/event-stream' : 'application/json';
      response.writeHead(status, { 'content-type': type });
      response.end(typeof bytes === 'string' ? bytes : bytes(request));
    });
  }

  /** Answers with one choice, whole or streamed as requested. */
  answerWith(choice: Partial<Choice>): void {
    const result = { ...textResult(choice), usage };
    this.answer((request) => {
      const context = renderContext(request);
      if (request.stream) return streamedTo(this.#format, [...eventsOf(result)], context);
      return JSON.stringify(this.#format.client.renderResult(result, context));
    });
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body: unknown = JSON.parse(Buffer.concat(await request.toArray()).toString());
    const parsed = this.#format.client.parseRequest(body, this.#addressOf(request.url ?? ''));
    this.requests.push(parsed);
    this.headers.push(request.headers);
    this.#respond(response, parsed);
  }
}
