/**
 * The interface of a wire format, in two halves: one towards clients that speak it, and one towards upstreams that
 * speak it. Everything is pure. `convert.ts` combines the halves of two formats.
 */
import type { Compatibility } from '../domain/compatibility.ts';
import type { ServiceError } from '../domain/errors.ts';
import type { JsonObject } from '../domain/json.ts';
import type { SingleFormatName, UpstreamFormatName, WireFormatName } from '../domain/wire-format-name.ts';
import type { AudioFile, Setting, StreamEvent, TextRequest, TextResult, Usage } from './canonical.ts';
import type { SchemaLimits, SchemaNames } from './fit-schemas.ts';
import type { SignaturePlaces } from './signatures.ts';
import type { ServerSentEvent } from './sse.ts';
import type { Emit, Stage } from './stage.ts';
import type { UpstreamError } from './upstream-errors.ts';

/** Facts about a request besides its body. */
export interface ParseContext {
  /** Only for the format that has the model, and whether to stream, in the path instead of the body. */
  readonly address?: { readonly model: string; readonly stream: boolean };
  /** The compatibility of the requested model; `specification` by default. */
  readonly compatibility?: Compatibility;
  /** Messages only: the client's header `anthropic-beta`. */
  readonly betas?: string | readonly string[] | undefined;
  /** Transcriptions and translations only: the file of the form. */
  readonly audio?: AudioFile | undefined;
}

/** The context for writing an answer: the same for all of its events, so that ids and times stay the same. */
export interface RenderContext {
  readonly request: TextRequest;
  /** Letters and digits that identify the answer; each format adds a prefix of its own. */
  readonly responseId: string;
  /** Unix seconds. */
  readonly createdAtSeconds: number;
  /** The current time in Unix seconds. */
  readonly nowSeconds: () => number;
  /** The gateway's own count of the input, for formats that start with it, in case the upstream reports it later. */
  readonly estimateInputTokens: () => number;
}

/** A stream that an error ends. */
export interface BrokenStream {
  /** How many events the client got before. */
  readonly eventCount: number;
  readonly compatibility: Compatibility;
  readonly context: RenderContext;
}

/** The fields that requests of every kind have. */
export interface RequestFormat {
  /**
   * Sent occasionally on a silent stream, to keep the connection open; null if clients tolerate nothing of the kind.
   */
  readonly keepAliveFrame: string | null;
  /**
   * Sent instead of `keepAliveFrame` on models with full compatibility once the stream has events, if agents of the format
   * notice events only.
   *
   * @param eventCount how many events the client has
   */
  renderKeepAlive?(eventCount: number): string;

  /**
   * A body of an agent as upstreams should get it, for models with full compatibility: as a body of this format, if it has
   * another one, and without what the agent adds for itself. Any other body is returned as it is.
   *
   * @throws ServiceError `bad_request` like `parseRequest`
   */
  adoptBody?(body: JsonObject): JsonObject;
  /** @throws ServiceError `bad_request` that names the field that is missing, malformed or not supported */
  parseRequest(body: unknown, context: ParseContext): TextRequest;
  /** The body of an error: contract 7.1. */
  renderError(error: ServiceError, requestId: string): JsonObject;
  /** The body of a refusal before Genway calls the model: the common envelope, with the fields that SDKs of the format read. */
  renderRefusal(error: ServiceError, requestId: string): object;
  /**
   * The frame for an error after the first byte, which ends the stream; null to break the connection off instead.
   *
   * @param broken what formats need that number their events or end with the whole answer
   */
  renderStreamError(error: ServiceError, requestId: string, broken: BrokenStream): string | null;
}

/** The half towards clients. */
export interface ClientFormat extends RequestFormat {
  /** Whether calls in this format have a field for a signature. */
  readonly hasCallSignatures?: boolean;
  /** Whether answers in this format say which stop sequence hit. */
  readonly hasStopSequence: boolean;
  /** This format's names for settings, as far as it has them. */
  readonly settingNames: Readonly<Partial<Record<Setting, string>> & Record<'reasoningEffort', string>>;
  /** This format's names for schemas. */
  readonly schemaNames: SchemaNames;

  /** The body of an answer that does not stream. */
  renderResult(result: TextResult, context: RenderContext): JsonObject;
  /** The stage from legal events to the text of server-sent events, including the end of the stream. */
  renderStream(context: RenderContext): Stage<StreamEvent, string>;
}

export interface UpstreamOptions {
  /** The model's name at the upstream. */
  readonly model: string;
  /** The vendor's name for the model, if the upstream's does not have it; `model` by default. */
  readonly baseModel?: string | undefined;
  readonly apiKey: string;
  /** The upstream's name for the output bound, where it speaks chat completions; `max_tokens` by default. */
  readonly maxTokensField?: 'max_tokens' | 'max_completion_tokens' | undefined;
  /** Whether the model reasons. */
  readonly reasons?: boolean | undefined;
  /** `specification` by default. */
  readonly compatibility?: Compatibility | undefined;
  /** The vendor and the format, which accept back only signatures of their own; by default, signatures have no marks. */
  readonly origin?: string | undefined;
  /** How the upstream gives answers by a schema: by its format's field, by default, or as the arguments of a tool. */
  readonly structuredOutput?: 'field' | 'tool' | undefined;
  /** Whether answers in JSON are checked against what the request asks for. */
  readonly checkOutput?: boolean | undefined;
  /** Whether a prompt without marks of its own gets marks for the upstream's cache. */
  readonly autoCache?: boolean | undefined;
  /** Which fields with a cost beyond tokens to pass on, where it speaks chat completions; none by default. */
  readonly chatFields?: readonly 'web_search_options'[] | undefined;
  /** Whether answers of the upstream may have audio, which later requests may refer to; false by default. */
  readonly speaks?: boolean | undefined;
  /** The most searches of the web that the upstream itself may run for the request; none by default. */
  readonly maxWebSearches?: number | undefined;
}

/** A POST to an upstream. */
export interface UpstreamRequest {
  /** Without a body, in batch APIs; `POST` by default. */
  readonly method?: 'GET';
  /** Relative to the base URL, which ends with the version: `/chat/completions` after `https://api.example.com/v1`. */
  readonly path: string;
  /** Credentials and versions; `content-type` is always JSON, and left out here. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: JsonObject;
  /** Sent instead of the body as JSON. */
  readonly content?: {
    readonly type: string;
    readonly byteLength: number;
    /** Called for each attempt. */
    readonly read: () => AsyncIterable<Uint8Array>;
  };
  /** Settings that the body omits, because the upstream would refuse them beside others; none by default. */
  readonly omitted?: readonly Setting[];
}

/** A vendor's call that counts the input tokens of a request. */
export interface InputCount {
  /** @param answered the request for an answer */
  request(answered: UpstreamRequest): UpstreamRequest;
  /** The count in the answer's JSON; null if there is none. */
  read(answer: unknown): number | null;
}

/** A request that is passed on in its own format, whose answer is passed back unchanged. */
export interface ForwardedRequest extends UpstreamRequest {
  /** Present if the answer has events that the client did not request: the stage keeps those that pass. */
  readonly shouldKeepEvent?: (event: ServerSentEvent) => boolean;
}

/** The facts about the request that a repair needs. */
export interface RepairContext {
  /** The client's body. */
  readonly body: JsonObject;
  /** The same, parsed. */
  readonly request: TextRequest;
  /** The usage that is charged for what has been read of the answer so far. */
  readonly usage: () => Usage;
}

/**
 * Repairs an answer that is passed on unchanged, where it would break what clients of the format rely on, or report
 * another usage than is charged. The repair changes nothing in a sound answer, and as little as possible in any other.
 */
export interface Repairer {
  /** Returns the answer itself when there is nothing to repair. Call it after the answer has been read. */
  repairResult(answer: JsonObject): JsonObject;
  /** Call it once for each stream. */
  repairStream(): StreamRepairer;
}

export interface StreamRepairer {
  /** Reads the events instead of `parseStream`, if the repairs need more than canonical events. */
  readonly parser?: Stage<ServerSentEvent, StreamEvent>;
  /** Records the event that will be repaired next. */
  see(event: StreamEvent): void;
  /** Emits what to pass on instead of an event that has been read: the same when there is nothing to repair. */
  repair(event: ServerSentEvent, emit: Emit<ServerSentEvent>): void;
  /** The frames that are missing at the end of the stream. */
  end(): string;
}

/** The half towards upstreams. */
export interface UpstreamFormat {
  /** Whether upstreams of this format accept stop sequences, and whether their answers say which one hit. */
  readonly stopSequences: 'unsupported' | 'unreported' | 'reported';
  /** Whether upstreams that accept stop sequences accept this one; by default they accept any. */
  readonly canSendStopSequence?: (sequence: string) => boolean;
  /** Whether upstreams of this format can be asked for JSON only by a schema. */
  readonly isSchemaRequiredForJson?: boolean;
  /** Whether a model of this name gives JSON to a request with tools; by default every model does. */
  readonly givesJsonBesideTools?: (name: string) => boolean;
  /** Whether JSON without a schema may be any value, such as a list or a text. */
  readonly givesAnyJson?: boolean;
  /** How many stop sequences upstreams of this format accept; any number by default. */
  readonly maxStopSequences?: number;
  /** Whether upstreams of this format give one answer to a call, however many a request asks for. */
  readonly isOneAnswerPerCall?: boolean;
  /** The settings that upstreams of this format have no field for; none by default. */
  readonly missingSettings?: readonly Setting[];
  /** The parts of schemas that upstreams of this format refuse. */
  readonly schemaLimits: SchemaLimits;
  /** The names of tools that upstreams of this format accept. */
  readonly toolNames: RegExp;
  /** The smallest output bound that upstreams accept; a smaller one is raised to it. 1 by default. */
  readonly minOutputTokens?: number;
  /** Absent where no vendor of this format counts. */
  readonly inputCount?: InputCount;

  /** @throws ServiceError `bad_request` when this format cannot express the request */
  buildRequest(request: TextRequest, options: UpstreamOptions): UpstreamRequest;
  /**
   * The events of a complete answer, to be normalized.
   *
   * @throws ServiceError when the answer is an error, or not an answer at all
   */
  parseResult(body: unknown): Iterable<StreamEvent>;
  /**
   * The stage from an upstream's server-sent events to events to be normalized. Throws at an error event.
   *
   * @param sent the request for the upstream
   */
  parseStream(sent?: Pick<TextRequest, 'tools'>): Stage<ServerSentEvent, StreamEvent>;
  /**
   * The error that the client gets when an upstream refuses or fails.
   *
   * @param body the answer's JSON, or its text if it is not JSON, or null when it could not be read
   */
  parseError(status: number, body: unknown, retryAfterSeconds?: number): UpstreamError;
}

/** The half towards upstreams of a format that clients use, too: their requests are passed on in it. */
export interface ForwardedFormat extends UpstreamFormat {
  readonly signaturePlaces: SignaturePlaces;

  /**
   * The client's own body for an upstream of the same format. `request` is that body, parsed; its limit takes effect.
   */
  forwardRequest(body: JsonObject, request: TextRequest, options: UpstreamOptions): ForwardedRequest;
  createRepairer(context: RepairContext): Repairer;
}

/** A format that upstreams use. */
export interface UpstreamHalf {
  readonly name: UpstreamFormatName;
  readonly upstream: UpstreamFormat;
}

/** A format that clients use, too. */
export interface WireFormat extends UpstreamHalf {
  readonly name: WireFormatName;
  readonly client: ClientFormat;
  readonly upstream: ForwardedFormat;
}

/** A kind of request that has one form for all clients: for embeddings and for voice. */
export interface SingleFormat {
  readonly name: SingleFormatName;
  readonly client: RequestFormat;
}

/** The wait before a retry, where it is known. */
export function waitOf({ retryAfterSeconds }: ServiceError): JsonObject {
  return retryAfterSeconds === undefined ? {} : { retry_after_seconds: retryAfterSeconds };
}

/** An error's message, with the request id at its end: contract 7.1. */
export function messageWithRequestId(error: ServiceError, requestId: string): string {
  return `${error.message} (request id: ${requestId})`;
}
