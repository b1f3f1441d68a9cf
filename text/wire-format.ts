/**
 * What each wire format implements, in two halves: towards clients that speak it and towards upstreams that speak it.
 * Everything is pure; `convert.ts` puts the halves of two formats together.
 */
import type { ServiceError } from '../domain/errors.ts';
import type { JsonObject } from '../domain/json.ts';
import type { WireFormatName } from '../domain/wire-format-name.ts';
import type { StreamEvent, TextRequest, TextResult } from './canonical.ts';
import type { ServerSentEvent } from './sse.ts';
import type { Stage } from './stage.ts';
import type { UpstreamError } from './upstream-errors.ts';

/** What is known of a request besides its body. */
export interface ParseContext {
  /** Only for the format whose path, not its body, says the model and whether to stream. */
  readonly address?: { readonly model: string; readonly stream: boolean };
}

/** What an answer is written with. It holds for every event of one answer, so that ids and times stay the same. */
export interface RenderContext {
  readonly request: TextRequest;
  /** Letters and digits that identify the answer; each format puts its own prefix before them. */
  readonly responseId: string;
  /** Unix seconds. */
  readonly createdAtSeconds: number;
  /** The clock: Unix seconds. */
  readonly nowSeconds: () => number;
}

/** The half that clients meet. */
export interface ClientFormat {
  /** Whether an answer in this format says which stop sequence hit. */
  readonly reportsStopSequence: boolean;
  /** What a silent stream sends now and then to keep the connection open, or null when clients cannot bear anything. */
  readonly keepAliveFrame: string | null;

  /**
   * @throws ServiceError `bad_request` naming the field that is missing, malformed or not supported
   */
  parseRequest(body: unknown, context: ParseContext): TextRequest;
  /** The body of the answer to a request that does not stream. */
  renderResult(result: TextResult, context: RenderContext): JsonObject;
  /** The stage from legal events to the text of server-sent events, the ending of the stream included. */
  renderStream(context: RenderContext): Stage<StreamEvent, string>;
  /** The body of an error: contract 7.1. */
  renderError(error: ServiceError, requestId: string): JsonObject;
  /**
   * The frame for an error after the first byte, after which the stream ends; null: break the connection off instead.
   *
   * @param eventCount how many events the client was sent before, for the format that numbers them; 0 when left out
   */
  renderStreamError(error: ServiceError, requestId: string, eventCount?: number): string | null;
}

export interface UpstreamOptions {
  /** The model's name at the upstream. */
  readonly model: string;
  readonly apiKey: string;
  /** How it calls the bound of the output, where it speaks chat completions; `max_tokens` when left out. */
  readonly maxTokensField?: 'max_tokens' | 'max_completion_tokens' | undefined;
  /** The fields `audio` and `web_search_options` that it is sent, where it speaks chat completions; none when left out. */
  readonly chatFields?: readonly ('audio' | 'web_search_options')[] | undefined;
}

/** A POST to an upstream. */
export interface UpstreamRequest {
  /** From the base URL on, which ends with the version: `/chat/completions` after `https://api.example.com/v1`. */
  readonly path: string;
  /** Credentials and versions; `content-type` is always JSON and not repeated here. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: JsonObject;
}

/** A request that goes on in the format it came in, and its answer back as it is. */
export interface ForwardedRequest extends UpstreamRequest {
  /** Present when the answer holds events that the client did not ask for: keeps only those it returns true for. */
  readonly keepsEvent?: (event: ServerSentEvent) => boolean;
}

/**
 * Mends what is passed on as it is, where it would break what clients of the format rely on. Of an answer that is sound it
 * changes nothing, and of any other as little as can be.
 */
export interface Mender {
  /** The answer itself where nothing is to be mended. */
  mendResult(answer: JsonObject): JsonObject;
  /** To be made for each stream. */
  mendStream(): StreamMender;
}

export interface StreamMender {
  /** Takes note of what was read from the event that is mended next. */
  see(event: StreamEvent): void;
  /** The data to pass on in place of an event's: the same where nothing is to be mended, null for none. */
  mend(data: string): string | null;
  /** The frames that the end of the stream lacks. */
  end(): string;
}

/** The half that upstreams meet. */
export interface UpstreamFormat {
  /** Whether upstreams of this format take stop sequences, and whether their answers say which one hit. */
  readonly stopSequences: 'unsupported' | 'unreported' | 'reported';
  /** Whether upstreams that take stop sequences take this one; any, when left out. */
  readonly takesStopSequence?: (sequence: string) => boolean;
  /** The smallest bound of the output that upstreams take: a smaller one is raised to it. 1, when left out. */
  readonly leastOutputTokens?: number;

  /**
   * @throws ServiceError `bad_request` when the request holds something that this format cannot say
   */
  buildRequest(request: TextRequest, options: UpstreamOptions): UpstreamRequest;
  /** The client's own body for an upstream of the same format. `request` is that body, parsed; its output bound counts. */
  forwardRequest(body: JsonObject, request: TextRequest, options: UpstreamOptions): ForwardedRequest;
  /**
   * The events of a whole answer, to be normalized. (`resultOf` of `collect.ts` folds them.)
   *
   * @throws ServiceError when the answer is an error or not an answer at all
   */
  parseResult(body: unknown): Iterable<StreamEvent>;
  /** The stage from an upstream's server-sent events to events to be normalized. It throws on an error event. */
  parseStream(): Stage<ServerSentEvent, StreamEvent>;
  /** Absent where answers are passed on whatever they hold: contract 4.8.2. */
  readonly mender?: Mender;
  /**
   * The error that a client gets for an upstream's answer without success.
   *
   * @param body the answer's JSON, its text where that is none, or null when it could not be read
   */
  parseError(status: number, body: unknown, retryAfterSeconds?: number): UpstreamError;
}

export interface WireFormat {
  readonly name: WireFormatName;
  readonly client: ClientFormat;
  readonly upstream: UpstreamFormat;
}

/** An error's sentence with the request id at its end: contract 7.1. */
export function messageWithRequestId(error: ServiceError, requestId: string): string {
  return `${error.message} (request id: ${requestId})`;
}
