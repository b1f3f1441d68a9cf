/**
 * The canonical model of a text request and its answer. Each wire format is mapped to and from it and to nothing else, so
 * four formats need four mappings in and four out, not twelve pairs.
 *
 * A failure is never an event: whatever reads an upstream throws a `ServiceError`, before or in the middle of a stream.
 */
import type { JsonObject } from '../domain/json.ts';

// ---------------------------------------------------------------------------------------------------------- requests

export interface TextPart {
  readonly type: 'text';
  readonly text: string;
}

/** Where the bytes of an image or a file are: in the request as base64, or behind an address that the upstream reads. */
export type Source =
  | { readonly kind: 'base64'; readonly mediaType: string; readonly data: string }
  | { readonly kind: 'url'; readonly url: string; readonly mediaType?: string | undefined };

export interface ImagePart {
  readonly type: 'image';
  readonly source: Source;
  /** How closely the model should look (`low`, `high`, `auto`), where the client said so. */
  readonly detail?: string | undefined;
}

/** Any other input: a document, sound, a video. Its media type says which. */
export interface FilePart {
  readonly type: 'file';
  readonly source: Source;
  readonly filename?: string | undefined;
}

export interface ReasoningPart {
  readonly type: 'reasoning';
  readonly text: string;
  /** Opaque text that the model that wrote the part wants back beside it: a signature or the encrypted reasoning. */
  readonly signature?: string | undefined;
  /** The signature is all there is: the upstream keeps the text to itself. */
  readonly redacted?: boolean | undefined;
}

export interface ToolCallPart {
  readonly type: 'tool-call';
  /** Unique in one answer; the tool result names it. */
  readonly callId: string;
  readonly name: string;
  /** JSON text exactly as it was given; `{}` when the tool takes no arguments. */
  readonly arguments: string;
  /** A thought signature that belongs to this call. */
  readonly signature?: string | undefined;
}

export interface ToolResultPart {
  readonly type: 'tool-result';
  readonly callId: string;
  /** The tool's name where the format says it; `turns.ts` looks it up from the call otherwise. */
  readonly name?: string | undefined;
  readonly content: readonly (TextPart | ImagePart | FilePart)[];
  readonly isError?: boolean | undefined;
}

export type InputPart = TextPart | ImagePart | FilePart;
export type AnswerPart = TextPart | ReasoningPart | ToolCallPart;

/** One step of the conversation. System text is a turn too, because it may come in the middle. */
export type Turn =
  | { readonly role: 'system'; readonly parts: readonly TextPart[] }
  | { readonly role: 'user'; readonly parts: readonly InputPart[] }
  | { readonly role: 'assistant'; readonly parts: readonly AnswerPart[] }
  | { readonly role: 'tool'; readonly parts: readonly ToolResultPart[] };

export interface Tool {
  readonly name: string;
  readonly description?: string | undefined;
  /** JSON Schema of the arguments; absent for a tool without any. */
  readonly parameters?: JsonObject | undefined;
  /** The model must follow the schema exactly. */
  readonly strict?: boolean | undefined;
}

export type ToolChoice =
  { readonly type: 'auto' | 'none' | 'required' } | { readonly type: 'tool'; readonly name: string };

export const REASONING_EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;
export type ReasoningEffort = (typeof REASONING_EFFORTS)[number];

/** What the answer's text must look like; absent means free text. */
export type OutputFormat =
  | { readonly type: 'json-object' }
  | {
      readonly type: 'json-schema';
      readonly name: string;
      readonly description?: string | undefined;
      readonly schema?: JsonObject | undefined;
      readonly strict?: boolean | undefined;
    };

export interface Sampling {
  /** Bounds every generated token, reasoning included. */
  readonly maxOutputTokens?: number | undefined;
  readonly temperature?: number | undefined;
  readonly topP?: number | undefined;
  readonly topK?: number | undefined;
  /** Never holds an empty string. */
  readonly stopSequences?: readonly string[] | undefined;
  readonly seed?: number | undefined;
  readonly frequencyPenalty?: number | undefined;
  readonly presencePenalty?: number | undefined;
  /** How many answers to make; absent means one. */
  readonly choiceCount?: number | undefined;
}

export interface TextRequest {
  /** The model id that the client sent. */
  readonly model: string;
  readonly stream: boolean;
  readonly turns: readonly Turn[];
  readonly tools: readonly Tool[];
  readonly toolChoice?: ToolChoice | undefined;
  /** False when the client wants at most one tool call per answer. */
  readonly parallelToolCalls?: boolean | undefined;
  readonly sampling: Sampling;
  readonly reasoningEffort?: ReasoningEffort | undefined;
  readonly outputFormat?: OutputFormat | undefined;
  readonly verbosity?: 'low' | 'medium' | 'high' | undefined;
  /** An opaque name of the end user, passed to upstreams that take one. */
  readonly userId?: string | undefined;
  /** Chat completions only: the client asked for a chunk with the usage at the end of the stream. */
  readonly includeUsage?: boolean | undefined;
  /**
   * Chat completions only: the request speaks of functions, as the format did before it had tools. `answers`: and so is the
   * answer to do.
   */
  readonly functions?: { readonly answers: boolean } | undefined;
  /** Responses only: what the answer tells again as it was sent. */
  readonly echo?:
    { readonly instructions?: string | undefined; readonly metadata?: JsonObject | undefined } | undefined;
  /** Chat completions only: fields that are sent as they are to upstreams whose route says so, and to no others. */
  readonly chatFields?: JsonObject | undefined;
}

// ----------------------------------------------------------------------------------------------------------- answers

/**
 * Token counts. `inputTotal` includes `cacheRead` and `cacheWrite`; `outputTotal` includes `reasoning`. A format that
 * counts otherwise converts at its edge. Null means that the upstream did not report the number.
 */
export interface Usage {
  readonly inputTotal: number | null;
  readonly cacheRead: number | null;
  readonly cacheWrite: number | null;
  readonly outputTotal: number | null;
  readonly reasoning: number | null;
}

export const UNREPORTED_USAGE: Usage = {
  inputTotal: null,
  cacheRead: null,
  cacheWrite: null,
  outputTotal: null,
  reasoning: null,
};

/**
 * Why an answer ended. `stop`: the model was done, or a stop sequence hit and nobody can say which. An answer that moderation
 * refused or cut has no reason here: it is a failure.
 */
export type FinishReason = 'stop' | 'stop-sequence' | 'length' | 'tool-calls';

export interface Finish {
  readonly reason: FinishReason;
  /** Which one hit; only with the reason `stop-sequence`. */
  readonly stopSequence?: string | undefined;
}

/**
 * One event of an answer. `id` names a part within the stream; it is not shown to clients (`callId` is). Start and finish
 * events name the choice they belong to when the client asked for several; absent means 0.
 *
 * What a renderer is given has gone through `normalize` and reads
 * `response-start usage? (start delta* end)* usage? finish+`, where parts of one choice never overlap, deltas are not
 * empty, each call id is unique, a tool call's arguments are never empty, and each choice finishes once.
 * What a parser of an upstream emits may be as sloppy as the upstream (see `normalize.ts`), but parts of different kinds
 * never share an id.
 */
export type StreamEvent =
  | { readonly type: 'response-start'; readonly id: string | null; readonly model: string | null }
  | { readonly type: 'text-start'; readonly id: string; readonly choice?: number | undefined }
  | { readonly type: 'text-delta'; readonly id: string; readonly text: string }
  | { readonly type: 'text-end'; readonly id: string }
  | { readonly type: 'reasoning-start'; readonly id: string; readonly choice?: number | undefined }
  | { readonly type: 'reasoning-delta'; readonly id: string; readonly text: string }
  | {
      readonly type: 'reasoning-end';
      readonly id: string;
      readonly signature?: string | undefined;
      readonly redacted?: boolean | undefined;
    }
  | {
      readonly type: 'tool-input-start';
      readonly id: string;
      readonly callId: string;
      readonly name: string;
      readonly signature?: string | undefined;
      readonly choice?: number | undefined;
    }
  | { readonly type: 'tool-input-delta'; readonly id: string; readonly text: string }
  | { readonly type: 'tool-input-end'; readonly id: string }
  | { readonly type: 'usage'; readonly usage: Usage }
  | ({ readonly type: 'finish'; readonly choice?: number | undefined } & Finish);

export interface Choice {
  readonly parts: readonly AnswerPart[];
  readonly finish: Finish;
}

/** A whole answer. `choices` has at least one element, in the order of their indexes. */
export interface TextResult {
  /** The upstream's own id and model name, for the logs; clients get the gateway's. */
  readonly id: string | null;
  readonly model: string | null;
  readonly choices: readonly Choice[];
  readonly usage: Usage;
}

/** `later` over `earlier`: a number that only one of them reports is kept. Nothing but zeros is no report after another. */
export function mergeUsage(earlier: Usage, later: Usage): Usage {
  if (isEmpty(later) && !isEmpty(earlier)) return earlier;
  return {
    inputTotal: later.inputTotal ?? earlier.inputTotal,
    cacheRead: later.cacheRead ?? earlier.cacheRead,
    cacheWrite: later.cacheWrite ?? earlier.cacheWrite,
    outputTotal: later.outputTotal ?? earlier.outputTotal,
    reasoning: later.reasoning ?? earlier.reasoning,
  };
}

function isEmpty({ inputTotal, outputTotal }: Usage): boolean {
  return (inputTotal ?? 0) === 0 && (outputTotal ?? 0) === 0;
}
