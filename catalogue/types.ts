/** The models on offer, with their limits, prices and routes. `load.ts` reads a {@link Catalogue} from a file. */
import type { JsonObject } from '../domain/json.ts';
import type { Compatibility } from '../domain/compatibility.ts';
import type { ImageChoice } from '../domain/image-choices.ts';
import type { ImageTier } from '../domain/image-size.ts';
import type { BatchRemainder } from '../domain/batch.ts';
import type { RankedRoute, ResultCheck } from '../domain/media-route.ts';
import type { ModelParameters } from '../domain/model-parameters.ts';
import type { MediaPricing, TextPricing } from '../domain/pricing.ts';
import type { Rational } from '../domain/rational.ts';
import type { SpeechFormat } from '../domain/speech-format.ts';
import type { TextTerms } from '../domain/text-price.ts';
import { type RequestFormatName, type UpstreamFormatName, WIRE_FORMAT_NAMES } from '../domain/wire-format-name.ts';
import type { AnswerTimeouts } from './answer-timeouts.ts';

export interface Catalogue {
  /** Stored with every charge, so that the charge can be recomputed. */
  readonly version: string;
  /** By model id, in the order of the file. */
  readonly videoModels: ReadonlyMap<string, VideoModel>;
  readonly imageModels: ReadonlyMap<string, ImageModel>;
  readonly textModels: ReadonlyMap<string, TextModel>;
  /** Ids with these prefixes belong to a family that the responses format does not serve (contract 4.8). */
  readonly claudeStylePrefixes: readonly string[];
}

export interface MediaModelBase {
  readonly id: string;
  /** The version of the model's contract, shown on its tasks; null if it has none. */
  readonly capabilityVersion: number | null;
  /** The upstreams that render the model; never empty. */
  readonly routes: readonly [RankedRoute, ...RankedRoute[]];
  readonly resultCheck: ResultCheck;
  readonly images: { readonly max: number; readonly required: boolean };
  readonly aspectRatios: readonly string[];
  readonly defaultAspectRatio: string;
  /** In USD per second, video or image; the keys of `byResolution` are the resolutions on offer. */
  readonly pricing: MediaPricing;
  /** Input fields that only this model has. */
  readonly parameters: ModelParameters;
  /** Fields of other media models, which are refused as unsupported. Other fields are refused as unknown. */
  readonly unsupportedFields: ReadonlySet<string>;
}

/** Contract 2.5 and 4.2. */
export interface VideoModel extends MediaModelBase {
  readonly kind: 'video';
  /** Code points. */
  readonly promptCharacters: { readonly min: number; readonly max: number };
  /** The most reference inputs of each kind; null if the model accepts none. */
  readonly maxReferenceVideos: number | null;
  readonly maxReferenceAudios: number | null;
  /** `values` lists the only durations on offer; null if the model offers every duration within the bounds. */
  readonly durationSeconds: {
    readonly min: number;
    readonly max: number;
    readonly default: number;
    readonly values: readonly number[] | null;
  };
  readonly defaultResolution: string;
}

/** Contract 2.5 and 4.3. */
export interface ImageModel extends MediaModelBase {
  readonly kind: 'image';
  /** The parameters that the model offers. */
  readonly choices: ReadonlyMap<
    ImageChoice,
    { readonly list: string; readonly values: readonly string[]; readonly default: string }
  >;
  readonly defaultResolution: ImageTier;
}

export type MediaModel = VideoModel | ImageModel;

/** An upstream that serves a text model, its format, and its name for the model. */
export interface TextRoute extends AnswerTimeouts {
  readonly provider: string;
  readonly format: UpstreamFormatName;
  readonly model: string;
  /** The vendor's name for the model, where the upstream's name does not say which model it is. */
  readonly baseModel?: string;
  /** Routes with a lower order are tried first. */
  readonly order: number;
  /** The share of requests among routes of equal order. */
  readonly weight: number;
  /** The upstream's name for the output bound in chat completions; `max_tokens` by default. */
  readonly maxTokensField?: MaxTokensField;
  /** How the upstream accepts a schema for its answer; in its format's field by default. */
  readonly structuredOutput?: StructuredOutput;
  /** Whether Genway checks that answers in JSON match the requested schema. */
  readonly checkOutput?: boolean;
  /** Whether Genway marks prompts for the cache of an upstream with the messages format. */
  readonly autoCache?: boolean;
  /** Fields that are passed on although the upstream may charge extra for them, which clients do not pay. */
  readonly chatFields?: readonly ChatField[];
  /** Whether the upstream runs the server tools of its format, as for searches that the model sells; true by default. */
  readonly serverTools?: boolean;
  /** Whether the upstream answers only with streams; false by default. */
  readonly streamsOnly?: boolean;
  /** Fields of requests that the upstream refuses, by its own names: removed, set to a value, or renamed. */
  readonly drop?: readonly string[];
  readonly set?: JsonObject;
  readonly rename?: Readonly<Record<string, string>>;
  /** What answers may have: text alone by default. */
  readonly outputModalities?: readonly OutputModality[];
  /** The formats in which the upstream can speak; those of its wire format by default. */
  readonly audioFormats?: readonly SpeechFormat[];
  /** Whether the upstream accepts calls over WebRTC, of a model of realtime sessions. */
  readonly webrtc?: boolean;
  /** The cost at the upstream; unknown by default. */
  readonly cost?: TextPricing;
  /** Sends requests of batches to the vendor's own batch API; by default, they are sent as direct requests. */
  readonly batch?: NativeBatch;
}

export interface NativeBatch {
  /** What happens to requests that the vendor leaves out: they run as direct requests, or fail. */
  readonly remainder: BatchRemainder;
  /** The part of the route's cost that the vendor charges in its batches. */
  readonly costFactor: Rational;
}

/** The formats whose vendors have batch APIs. */
export const NATIVE_BATCH_FORMATS = [
  'chat-completions',
  'responses',
  'messages',
  'generate-content',
] as const satisfies readonly UpstreamFormatName[];

/** Fields that the service needs as it writes them: the request itself, the answers, and what their hold covers. */
export const UNCHANGEABLE_FIELDS = [
  'model',
  'messages',
  'input',
  'contents',
  'stream',
  'stream_options',
  'n',
  'max_tokens',
  'max_completion_tokens',
  'max_output_tokens',
  'generationConfig',
  'generationConfig.candidateCount',
  'generationConfig.maxOutputTokens',
] as const;

export const CHAT_FIELDS = ['web_search_options'] as const;
export type ChatField = (typeof CHAT_FIELDS)[number];

export const OUTPUT_MODALITIES = ['text', 'audio'] as const;
export type OutputModality = (typeof OUTPUT_MODALITIES)[number];

/** Whether answers over the route may have audio. */
export function speaks({ outputModalities = [] }: TextRoute): boolean {
  return outputModalities.includes('audio');
}

/** What the answers of a model may have; undefined for the formats that have one kind of answer. */
export function outputModalitiesOf({ formats, routes }: TextModel): readonly OutputModality[] | undefined {
  const isConversation = formats.some((format) => WIRE_FORMAT_NAMES.some((name) => name === format));
  if (!isConversation) return undefined;
  return OUTPUT_MODALITIES.filter((modality) => modality === 'text' || routes.some(speaks));
}

/** Newer models of the chat-completions API refuse `max_tokens`. */
export const MAX_TOKENS_FIELDS = ['max_tokens', 'max_completion_tokens'] as const;
export type MaxTokensField = (typeof MAX_TOKENS_FIELDS)[number];

/** `tool`: the answer is the arguments of a tool that the model must call, for upstreams without a schema field. */
export const STRUCTURED_OUTPUTS = ['field', 'tool'] as const;
export type StructuredOutput = (typeof STRUCTURED_OUTPUTS)[number];

/** The kinds of input that are not text. */
export const MEDIA_KINDS = ['image', 'document', 'audio', 'video'] as const;
export type MediaKind = (typeof MEDIA_KINDS)[number];

/** Contract 2.6. */
export interface TextModel extends TextTerms {
  readonly id: string;
  readonly family: string;
  /** Null when the vendor publishes no number. */
  readonly maxOutputTokens: number | null;
  /** The most tokens of one image, document, audio or video in a prompt. */
  readonly mediaTokens: Readonly<Record<MediaKind, number>>;
  /** Whether the model can reason before it answers. */
  readonly reasoning: boolean;
  /** The accepted values of `reasoning.effort`; empty if the model accepts all. */
  readonly reasoningEfforts: readonly string[];
  /** Fields that only this family accepts in the responses format: `reasoning`, `text`. */
  readonly responsesFields: readonly string[];
  readonly compatibility: Compatibility;
  /** The most searches of the web for one request; absent if the model sells none. */
  readonly webSearch?: { readonly maxCalls: number };
  /** The formats that the model serves; for models of embeddings, ranking and realtime sessions, only `embeddings`, `rerank` or `realtime`. */
  readonly formats: readonly RequestFormatName[];
  readonly routes: readonly [TextRoute, ...TextRoute[]];
  /** The model costs nothing, and has a separate rate limit (contract 8.1). */
  readonly free: boolean;
  /** Signup credit cannot pay for the model. */
  readonly fundedOnly: boolean;
  /** The account must have topped up. */
  readonly requiresTopUp: boolean;
  /** Whether the id is an older one that still works (contract 9). */
  readonly legacy: boolean;
}

/** Lists all models: videos, images, text, each in the order of the file. */
export function allModels({ videoModels, imageModels, textModels }: Catalogue): readonly (MediaModel | TextModel)[] {
  return [...videoModels.values(), ...imageModels.values(), ...textModels.values()];
}

/** Whether the responses format refuses the id with 400, whether or not it is in the catalogue (contract 4.8). */
export function isClaudeStyle(catalogue: Catalogue, id: string): boolean {
  return catalogue.claudeStylePrefixes.some((prefix) => id.startsWith(prefix));
}

/** Whether the model serves the format. */
export function hasFormat(model: TextModel, format: RequestFormatName): boolean {
  return model.formats.includes(format);
}
