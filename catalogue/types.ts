/** The models that Genway sells, with their limits, prices and routes. `load.ts` reads a {@link Catalogue} from a file. */
import type { Compatibility } from '../domain/compatibility.ts';
import type { ImageChoice } from '../domain/image-choices.ts';
import type { ImageTier } from '../domain/image-size.ts';
import type { RankedRoute, ResultCheck } from '../domain/media-route.ts';
import type { ModelParameters } from '../domain/model-parameters.ts';
import type { MediaPricing, TextPricing } from '../domain/pricing.ts';
import type { TextTerms } from '../domain/text-price.ts';
import type { RequestFormatName, UpstreamFormatName } from '../domain/wire-format-name.ts';
import type { AnswerTimeouts } from './answer-timeouts.ts';

export interface Catalogue {
  /** The name of this edition. Stored with every charge, so that the charge can be recomputed. */
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
  /** Version of the model's contract, shown on its tasks; null when it has none. */
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
  /** Fields of other media models, which are refused as unsupported; any other field is unknown. */
  readonly unsupportedFields: ReadonlySet<string>;
}

/** Contract 2.5 and 4.2. */
export interface VideoModel extends MediaModelBase {
  readonly kind: 'video';
  /** Code points. */
  readonly promptCharacters: { readonly min: number; readonly max: number };
  /** The most reference inputs of each kind; null when the model takes none. */
  readonly maxReferenceVideos: number | null;
  readonly maxReferenceAudios: number | null;
  /** `values` lists the only durations on sale, if not every number within the bounds is. */
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

/** An upstream that serves a text model, the format it speaks, and its name for the model. */
export interface TextRoute extends AnswerTimeouts {
  readonly provider: string;
  readonly format: UpstreamFormatName;
  readonly model: string;
  /** Routes with a lower one are tried first. */
  readonly order: number;
  /** The share of requests among routes of equal order. */
  readonly weight: number;
  /** The upstream's name for the output bound, where it speaks chat completions; `max_tokens` by default. */
  readonly maxTokensField?: MaxTokensField;
  /** How the upstream gives answers by a schema; by its format's field by default. */
  readonly structuredOutput?: StructuredOutput;
  /** Whether answers in JSON are checked against what the request asks for. */
  readonly checkOutput?: boolean;
  /** Whether prompts are marked for the cache of an upstream that speaks messages. */
  readonly autoCache?: boolean;
  /** Fields that are passed on although the upstream may charge for them beyond tokens, which clients do not pay. */
  readonly chatFields?: readonly ChatField[];
  /** The cost at the upstream; unknown by default. */
  readonly cost?: TextPricing;
}

export const CHAT_FIELDS = ['audio', 'web_search_options'] as const;
export type ChatField = (typeof CHAT_FIELDS)[number];

/** Newer models of the chat-completions API refuse the older name. */
export const MAX_TOKENS_FIELDS = ['max_tokens', 'max_completion_tokens'] as const;
export type MaxTokensField = (typeof MAX_TOKENS_FIELDS)[number];

/** `tool`: as the arguments of a tool that the model has to call, where the upstream has no field for a schema. */
export const STRUCTURED_OUTPUTS = ['field', 'tool'] as const;
export type StructuredOutput = (typeof STRUCTURED_OUTPUTS)[number];

/** The kinds of input that are not text. */
export const MEDIA_KINDS = ['image', 'document', 'audio', 'video'] as const;
export type MediaKind = (typeof MEDIA_KINDS)[number];

/** Contract 2.6. */
export interface TextModel extends TextTerms {
  readonly id: string;
  readonly family: string;
  /** Null when no number is published. */
  readonly maxOutputTokens: number | null;
  /** The most tokens that one image, document, sound or video in a prompt can have. */
  readonly mediaTokens: Readonly<Record<MediaKind, number>>;
  /** Whether the model may think before it answers. */
  readonly reasoning: boolean;
  /** The accepted values of `reasoning.effort`; empty when the model does not restrict them. */
  readonly reasoningEfforts: readonly string[];
  /** Fields that only this family takes on the responses format: `reasoning`, `text`. */
  readonly responsesFields: readonly string[];
  readonly compatibility: Compatibility;
  /** The formats that the model answers on; or `embeddings` alone. */
  readonly formats: readonly RequestFormatName[];
  readonly routes: readonly [TextRoute, ...TextRoute[]];
  /** Costs nothing, and has a rate limit of its own (contract 8.1). */
  readonly free: boolean;
  /** Signup credit does not pay for it. */
  readonly fundedOnly: boolean;
  /** Refused on an account that never topped up. */
  readonly requiresTopUp: boolean;
  /** An older id that still works (contract 9). */
  readonly legacy: boolean;
}

/** Every model, in the order of the file. */
export function allModels({ videoModels, imageModels, textModels }: Catalogue): readonly (MediaModel | TextModel)[] {
  return [...videoModels.values(), ...imageModels.values(), ...textModels.values()];
}

/** Whether the responses format refuses the id with 400, whether or not it is in the catalogue (contract 4.8). */
export function isClaudeStyle(catalogue: Catalogue, id: string): boolean {
  return catalogue.claudeStylePrefixes.some((prefix) => id.startsWith(prefix));
}

/** Whether the model answers on that format. */
export function answersFormat(model: TextModel, format: RequestFormatName): boolean {
  return model.formats.includes(format);
}
