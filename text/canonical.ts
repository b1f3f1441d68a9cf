/**
 * The canonical model of a text request and its answer. Each wire format is mapped only to and from this model, so four
 * formats need four mappings each way instead of twelve pairs.
 *
 * A failure is never an event: whatever reads an upstream throws a `ServiceError`, before a stream or in the middle of
 * it.
 */
import type { JsonObject } from '../domain/json.ts';
import type { ChatAudioFormat, SpeechFormat } from '../domain/speech-format.ts';
import { type ReportedUsage, usageOf } from '../domain/text-tokens.ts';

// ---------------------------------------------------------------------------------------------------------- requests

export const CACHE_LIFETIMES = ['5m', '1h'] as const;

/** The end of a prefix of the prompt that the upstream should keep in its cache. */
export interface CacheBreakpoint {
  /** The upstream's usual lifetime, of five minutes, when absent. */
  readonly ttl?: (typeof CACHE_LIFETIMES)[number] | undefined;
}

interface Cacheable {
  readonly cacheBreakpoint?: CacheBreakpoint | undefined;
}

export interface TextPart extends Cacheable {
  readonly type: 'text';
  readonly text: string;
  /** Messages only: the tool to which the text refers, as its vendor's models know it with a beta. */
  readonly toolReference?: string | undefined;
}

/** The source of the bytes of an image or file: in the request as base64, or at an address that the upstream fetches. */
export type Source =
  | { readonly kind: 'base64'; readonly mediaType: string; readonly data: string }
  | { readonly kind: 'url'; readonly url: string; readonly mediaType?: string | undefined };

export interface ImagePart extends Cacheable {
  readonly type: 'image';
  readonly source: Source;
  /** How closely the model should look (`low`, `high`, `auto`), if the client says. */
  readonly detail?: string | undefined;
}

/** Any other input: a document, sound or video, as its media type says. */
export interface FilePart extends Cacheable {
  readonly type: 'file';
  readonly source: Source;
  readonly filename?: string | undefined;
}

export interface ReasoningPart {
  readonly type: 'reasoning';
  readonly text: string;
  /** Opaque text that the model expects back together with the part: a signature, or encrypted reasoning. */
  readonly signature?: string | undefined;
  /** Only the signature is there: the upstream keeps the text to itself. */
  readonly redacted?: boolean | undefined;
}

export interface ToolCallPart extends Cacheable {
  readonly type: 'tool-call';
  /** Unique within an answer; the tool result refers to it. */
  readonly callId: string;
  readonly name: string;
  /** The JSON text exactly as received; `{}` when the tool takes no arguments. */
  readonly arguments: string;
  /** A thought signature that belongs to this call. */
  readonly signature?: string | undefined;
}

export interface ToolResultPart extends Cacheable {
  readonly type: 'tool-result';
  readonly callId: string;
  /** The tool's name, if the format has it; otherwise `turns.ts` takes it from the call. */
  readonly name?: string | undefined;
  readonly content: readonly (TextPart | ImagePart | FilePart)[];
  readonly isError?: boolean | undefined;
}

/** Audio of an answer, or of a piece of an answer. In a conversation that is sent back, any of the fields may be absent. */
export interface AudioPart {
  readonly type: 'audio';
  /** The upstream's name for the audio, by which later requests refer to the audio; absent if there is none. */
  readonly audioId?: string | undefined;
  /** Base64. */
  readonly data?: string | undefined;
  /** The type of the data; absent for the format that the request asks for. */
  readonly mediaType?: string | undefined;
  readonly transcript?: string | undefined;
  /** Whether the message has the transcript as its text, too. */
  readonly isInText?: boolean | undefined;
  /** The Unix time until which the upstream knows the name. */
  readonly expiresAtSeconds?: number | undefined;
}

export type InputPart = TextPart | ImagePart | FilePart;
export type AnswerPart = TextPart | ReasoningPart | ToolCallPart;
/** A part of the assistant's in a conversation. */
export type AssistantPart = AnswerPart | AudioPart | ImagePart;

/** An image of an answer. */
export type AnswerImage = Extract<Source, { kind: 'base64' }>;

/** One step of the conversation. System text is a turn too, because it may occur in the middle. */
export type Turn =
  | { readonly role: 'system'; readonly parts: readonly TextPart[] }
  | { readonly role: 'user'; readonly parts: readonly InputPart[] }
  | { readonly role: 'assistant'; readonly parts: readonly AssistantPart[] }
  | { readonly role: 'tool'; readonly parts: readonly ToolResultPart[] };

export interface Tool extends Cacheable {
  readonly name: string;
  readonly description?: string | undefined;
  /** JSON Schema of the arguments; absent when the tool takes none. */
  readonly parameters?: JsonObject | undefined;
  /** The model must follow the schema exactly. */
  readonly strict?: boolean | undefined;
  /** Messages only: the type by which the vendor's models know the tool, which the client runs. */
  readonly clientType?: string | undefined;
  /** Messages only: fields of the client's tool that need a beta. */
  readonly betaFields?: JsonObject | undefined;
  /** Responses only: the client knows the tool by this name, in a namespace. */
  readonly inNamespace?: { readonly namespace: string; readonly name: string } | undefined;
  /** The client's tool takes free text, which is the argument `input` here. */
  readonly isFreeText?: boolean | undefined;
  /** Responses only: the client's search for further tools, which become tools of the request. */
  readonly isToolSearch?: boolean | undefined;
}

export type ToolChoice =
  | { readonly type: 'auto' | 'none' | 'required' }
  | { readonly type: 'tool'; readonly name: string };

export const REASONING_EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;
export type ReasoningEffort = (typeof REASONING_EFFORTS)[number];

/** A search of the web that the model's side runs as often as the model wants. */
export interface WebSearch {
  /** The client's field or tool, as answers name it where it has no effect. */
  readonly field: string;
  /** The most searches for the answer. */
  readonly maxCalls?: number | undefined;
  readonly allowedDomains?: readonly string[] | undefined;
  readonly blockedDomains?: readonly string[] | undefined;
  /** Where the user is, in words. */
  readonly place?: string | undefined;
}

export interface WebSearchResult {
  readonly url: string;
  readonly title: string;
  /** The part of the page that the model reads. */
  readonly text: string;
}

/** Which of its reasoning an answer shows: the text, only the signatures of it, or none. */
export type ReasoningDisplay = 'text' | 'signature' | 'none';

/** The required form of the answer's text; absent for free text. */
export type OutputFormat =
  | { readonly type: 'json-object' }
  | {
      readonly type: 'json-schema';
      readonly name: string;
      readonly description?: string | undefined;
      readonly schema?: JsonObject | undefined;
      readonly strict?: boolean | undefined;
      /** The property whose text is the answer, where the client wants a text of the schema and not JSON. */
      readonly textIn?: string | undefined;
    };

export interface Sampling {
  /** The most tokens to generate, reasoning included. */
  readonly maxOutputTokens?: number | undefined;
  readonly temperature?: number | undefined;
  readonly topP?: number | undefined;
  readonly topK?: number | undefined;
  /** None of them is empty. */
  readonly stopSequences?: readonly string[] | undefined;
  readonly seed?: number | undefined;
  readonly frequencyPenalty?: number | undefined;
  readonly presencePenalty?: number | undefined;
  /** How many answers to generate; absent for one. */
  readonly choiceCount?: number | undefined;
}

/** A setting that upstreams of some formats have no field for, or cannot have beside others. */
export type Setting =
  | keyof Pick<Sampling, 'temperature' | 'topP' | 'topK' | 'seed' | 'frequencyPenalty' | 'presencePenalty'>
  | 'reasoningEffort'
  | 'verbosity'
  | 'toolChoice'
  | 'parallelToolCalls'
  | 'strictTools'
  | 'userId'
  | 'promptCacheKey'
  | 'imageDetail'
  | 'cacheMarks';

/** Fields of a client's body without effect, by their paths: on every upstream, and on those of other formats. */
export interface UnusedFields {
  readonly always: readonly string[];
  readonly converted: readonly string[];
}

/** The breakpoint of a request is at its end. */
export interface TextRequest extends Cacheable {
  /** The model id that the client sent. */
  readonly model: string;
  readonly stream: boolean;
  readonly turns: readonly Turn[];
  readonly tools: readonly Tool[];
  readonly webSearch?: WebSearch | undefined;
  readonly toolChoice?: ToolChoice | undefined;
  /** False when the client wants at most one tool call per answer. */
  readonly parallelToolCalls?: boolean | undefined;
  readonly sampling: Sampling;
  readonly reasoningEffort?: ReasoningEffort | undefined;
  /** The most tokens to reason with; 0 for none. */
  readonly reasoningBudget?: number | undefined;
  /** Absent: as the client's format does by default. */
  readonly reasoningDisplay?: ReasoningDisplay | undefined;
  readonly outputFormat?: OutputFormat | undefined;
  readonly verbosity?: 'low' | 'medium' | 'high' | undefined;
  /** An opaque name for the end user, passed to upstreams that accept one. */
  readonly userId?: string | undefined;
  /** Names the conversation, so that the vendor finds its beginning in the cache. */
  readonly promptCacheKey?: string | undefined;
  /** Chat completions only: whether the stream is to end with a chunk that holds the usage. */
  readonly includeUsage?: boolean | undefined;
  /** Chat completions only: the request uses functions, the predecessor of tools; `answers`: so must the answer. */
  readonly functions?: { readonly answers: boolean } | undefined;
  /** Chat completions only: the request has forms of tools that only the format's vendor knows. Upstreams get functions. */
  readonly hasVendorTools?: boolean | undefined;
  /** Responses only: the types of tools, and of records of their calls, that the client runs and only the format's vendor knows. */
  readonly vendorTools?: readonly string[] | undefined;
  /** Responses only: the answer is a summary of the conversation, for a later request. */
  readonly isSummary?: boolean | undefined;
  /** Messages only: the vendor's betas that the client uses, and that fields of its body need. */
  readonly betas?: readonly string[] | undefined;
  /** Messages only: the request has documents or search results with fields that no other format has, such as citations. */
  readonly hasSources?: boolean | undefined;
  /** Responses only: the fields that the answer repeats from the request, and whether it is stored. */
  readonly echo?:
    | {
        readonly instructions?: string | undefined;
        readonly metadata?: JsonObject | undefined;
        readonly previousResponseId?: string | undefined;
        readonly isStored?: boolean | undefined;
      }
    | undefined;
  /** The fields that the answer's headers report as without effect. */
  readonly unused?: UnusedFields | undefined;
  /** Chat completions only: fields passed on unchanged to upstreams whose route asks for them, and to no others. */
  readonly chatFields?: JsonObject | undefined;
  /** Embeddings only, whose texts are the parts of one turn. */
  readonly embeddings?: EmbeddingsOptions | undefined;
  readonly speech?: SpeechOptions | undefined;
  /** Present if the answer should have audio. */
  readonly audioOutput?: AudioOutput | undefined;
  readonly transcription?: TranscriptionOptions | undefined;
  /** Ranking only, whose query and documents are the parts of one turn. */
  readonly rerank?: RerankOptions | undefined;
}

/** The inputs of an embeddings request, and the encoding of its answer. */
export interface EmbeddingsOptions {
  readonly inputCount: number;
  /** How many tokens came as ids, of which there is no text. */
  readonly tokenIdCount: number;
  readonly encoding: 'float' | 'base64';
  /** The answer: OpenAI's list, or Google's object with one vector or several. */
  readonly shape: 'list' | 'embedding' | 'embeddings';
  /** The request for the upstream, with the client's name for the model. */
  readonly sent: JsonObject;
}

/** A request to rank documents by a query. */
export interface RerankOptions {
  readonly query: string;
  readonly documents: readonly string[];
  /** How many of the best documents the answer has. */
  readonly topN: number;
  /** Whether the answer has the texts. */
  readonly returnsDocuments: boolean;
  /** The body of the client. */
  readonly sent: JsonObject;
}

/** The audio of an answer to a conversation. */
export interface AudioOutput {
  /** The upstream's name of a voice, or the id of a custom voice. */
  readonly voice: string | { readonly id: string } | undefined;
  readonly format: ChatAudioFormat;
  /** Native only: whether the answer has text, too. */
  readonly hasText?: boolean | undefined;
  /** Native only: the client's own settings of the speech. */
  readonly speechConfig?: JsonObject | undefined;
}

/** A file of audio, which can be read several times. */
export interface AudioFile {
  readonly filename: string;
  readonly contentType: string;
  readonly bytes: number;
  /** As the file announces; null if it does not. */
  readonly seconds: number | null;
  read(): AsyncIterable<Uint8Array>;
}

/** A request to transcribe speech, or to translate it into English. */
export interface TranscriptionOptions {
  readonly task: 'transcriptions' | 'translations';
  readonly audio: AudioFile;
  readonly format: 'json' | 'text' | 'srt' | 'vtt' | 'verbose_json' | 'diarized_json';
  /** The other fields for the upstream. */
  readonly fields: JsonObject;
}

/** A request to speak a text. */
export interface SpeechOptions {
  readonly text: string;
  /** In code points. */
  readonly characters: number;
  readonly voice: string | { readonly id: string };
  readonly instructions: string | undefined;
  /** 1 is the usual pace. */
  readonly speed: number | undefined;
  readonly audioFormat: SpeechFormat;
  /** Whether the client gets server-sent events instead of the bytes of a file. */
  readonly asEvents: boolean;
}

// ----------------------------------------------------------------------------------------------------------- answers

export type Usage = ReportedUsage;

export const UNREPORTED_USAGE = usageOf(() => null);

/**
 * Why an answer ended. `stop`: the model was done, or an unknown stop sequence hit. There is no reason for moderation:
 * an answer that it refused or cut is a failure.
 */
export type FinishReason = 'stop' | 'stop-sequence' | 'length' | 'tool-calls';

export interface Finish {
  readonly reason: FinishReason;
  /** The stop sequence that matched; only with the reason `stop-sequence`. */
  readonly stopSequence?: string | undefined;
}

/**
 * One event of an answer. `id` identifies a part within the stream; clients do not see it (they see `callId`). Start
 * and finish events carry the choice they belong to when the client asked for several; absent means 0.
 *
 * Renderers get events that have been through `normalize`, in the order `response-start usage? (start delta* end)*
 * usage? finish+`, where parts of one choice never overlap, deltas are not empty, each call id is unique, a tool call's
 * arguments are never empty, and each choice finishes once. The pieces of a choice's audio and the probabilities of its
 * tokens may come anywhere before its finish, as may its images. Upstream parsers may emit events as sloppy as the upstream
 * (see `normalize.ts`), but parts of different kinds never share an id.
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
  | { readonly type: 'audio-delta'; readonly choice?: number | undefined; readonly audio: Omit<AudioPart, 'type'> }
  | { readonly type: 'image'; readonly choice?: number | undefined; readonly image: AnswerImage }
  /** Chat completions only: the probabilities of the tokens of the text that follows. */
  | { readonly type: 'logprobs'; readonly choice?: number | undefined; readonly logprobs: JsonObject }
  | { readonly type: 'web-search-start'; readonly id: string; readonly query: string }
  | ({ readonly type: 'web-search-end'; readonly id: string } & FoundOnWeb)
  | { readonly type: 'usage'; readonly usage: Usage }
  | ({ readonly type: 'finish'; readonly choice?: number | undefined } & Finish);

export type StartEvent = Extract<StreamEvent, { type: 'text-start' | 'reasoning-start' | 'tool-input-start' }>;
export type EndEvent = Extract<StreamEvent, { type: 'text-end' | 'reasoning-end' | 'tool-input-end' }>;

/** What a search of the web found; an error if it failed. */
export interface FoundOnWeb {
  readonly query: string;
  readonly results: readonly WebSearchResult[];
  readonly error?: 'unavailable' | 'max_uses_exceeded' | undefined;
}

/** A search that the operator's service ran for the answer. */
export interface AnswerSearch extends FoundOnWeb {
  /** How many parts of the answer are before it. */
  readonly at: number;
}

export interface Choice {
  readonly parts: readonly AnswerPart[];
  readonly audio?: AudioPart | undefined;
  readonly images?: readonly AnswerImage[] | undefined;
  readonly logprobs?: JsonObject | undefined;
  readonly searches?: readonly AnswerSearch[] | undefined;
  readonly finish: Finish;
}

/** A complete answer. `choices` has at least one element, ordered by index. */
export interface TextResult {
  /** The upstream's own id and model name, for the logs; clients get the gateway's. */
  readonly id: string | null;
  readonly model: string | null;
  readonly choices: readonly Choice[];
  readonly usage: Usage;
}

/** Merges two reports: `later` wins, a number of only one report stays, and a later report of zeros has no effect. */
export function mergeUsage(earlier: Usage, later: Usage): Usage {
  if (isEmpty(later) && !isEmpty(earlier)) return earlier;
  return usageOf((name) => later[name] ?? earlier[name]);
}

function isEmpty({ inputTotal, outputTotal, webSearches }: Usage): boolean {
  return (inputTotal ?? 0) === 0 && (outputTotal ?? 0) === 0 && (webSearches ?? 0) === 0;
}
