/**
 * What Genway sells: its models with their limits, prices and routes, as data. `load.ts` makes a {@link Catalogue} from a
 * file; nothing here reads anything.
 */
import type { ImageTier } from '../domain/image-size.ts';
import type { PicoUsd } from '../domain/money.ts';
import type { TextTerms } from '../domain/text-price.ts';
import type { WireFormatName } from '../domain/wire-format-name.ts';

export interface Catalogue {
  /** Names this edition of the prices; kept with every charge, so that it can be recomputed. */
  readonly version: string;
  /** By model id, in the order of the file. */
  readonly videoModels: ReadonlyMap<string, VideoModel>;
  readonly imageModels: ReadonlyMap<string, ImageModel>;
  readonly textModels: ReadonlyMap<string, TextModel>;
  /** Ids that start so belong to a family that the responses format does not answer (contract 4.8). */
  readonly claudeStylePrefixes: readonly string[];
}

/** Which upstream renders a media model, and what the model is called there. */
export interface MediaRoute {
  readonly provider: string;
  readonly model: string;
}

interface MediaModelBase {
  readonly id: string;
  /** Contract version, shown on every task of the model; null when it has none. */
  readonly capabilityVersion: number | null;
  readonly route: MediaRoute;
  readonly images: { readonly max: number; readonly required: boolean };
  readonly aspectRatios: readonly string[];
  readonly defaultAspectRatio: string;
  /** Fields of other media models. A request with one that this model does not take is told so; any other is unknown. */
  readonly unsupportedFields: ReadonlySet<string>;
}

/** Contract 2.5 and 4.2. */
export interface VideoModel extends MediaModelBase {
  readonly kind: 'video';
  /** Code points. */
  readonly promptCharacters: { readonly min: number; readonly max: number };
  /** The most reference inputs of each sort; null where the model takes none. */
  readonly maxReferenceVideos: number | null;
  readonly maxReferenceAudios: number | null;
  readonly durationSeconds: { readonly min: number; readonly max: number; readonly default: number };
  /** Pico-USD, by resolution; its keys are the resolutions on offer. */
  readonly pricePerSecond: ReadonlyMap<string, PicoUsd>;
  readonly defaultResolution: string;
}

/** Contract 2.5 and 4.3. */
export interface ImageModel extends MediaModelBase {
  readonly kind: 'image';
  readonly backgrounds: readonly string[];
  readonly defaultBackground: string;
  /** Pico-USD for one image; its keys are the values of `resolution`. */
  readonly pricePerTier: Readonly<Record<ImageTier, PicoUsd>>;
  readonly defaultResolution: ImageTier;
}

export type MediaModel = VideoModel | ImageModel;

/** An upstream that serves a text model, the format it speaks, and what the model is called there. */
export interface TextRoute {
  readonly provider: string;
  readonly format: WireFormatName;
  readonly model: string;
  /** How the upstream calls the bound of the output, where it speaks chat completions; `max_tokens` when left out. */
  readonly maxTokensField?: MaxTokensField;
  /** Fields that the upstream is sent although it may charge for them beyond tokens, which clients do not pay. */
  readonly chatFields?: readonly ChatField[];
}

export const CHAT_FIELDS = ['audio', 'web_search_options'] as const;
export type ChatField = (typeof CHAT_FIELDS)[number];

/** The newer models of the chat-completions API refuse the older name. */
export const MAX_TOKENS_FIELDS = ['max_tokens', 'max_completion_tokens'] as const;
export type MaxTokensField = (typeof MAX_TOKENS_FIELDS)[number];

/** The kinds of input that are not text. */
export const MEDIA_KINDS = ['image', 'document', 'audio', 'video'] as const;
export type MediaKind = (typeof MEDIA_KINDS)[number];

/** Contract 2.6. */
export interface TextModel extends TextTerms {
  readonly id: string;
  readonly family: string;
  /** Null when no number is published. */
  readonly maxOutputTokens: number | null;
  /** The most tokens that one image, document, sound or video of a prompt takes. */
  readonly mediaTokens: Readonly<Record<MediaKind, number>>;
  /** Whether the model may think before it answers. */
  readonly reasoning: boolean;
  /** The values of `reasoning.effort`; empty when the model takes none. */
  readonly reasoningEfforts: readonly string[];
  /** Fields that only this family takes on the responses format: `reasoning`, `text`. */
  readonly responsesFields: readonly string[];
  /** The formats that answer for the model. */
  readonly formats: readonly WireFormatName[];
  /** In the order in which they are tried; never empty. */
  readonly routes: readonly [TextRoute, ...TextRoute[]];
  /** No cost per token; its own rate limit (contract 8.1). */
  readonly free: boolean;
  /** Signup credit does not pay for it. */
  readonly fundedOnly: boolean;
  /** Refused on an account that never topped up. */
  readonly requiresTopUp: boolean;
  /** An older id that still works (contract 9). */
  readonly legacy: boolean;
}

/** Ids are exact and case-sensitive in all of these. */
export function findVideoModel(catalogue: Catalogue, id: string): VideoModel | undefined {
  return catalogue.videoModels.get(id);
}

export function findImageModel(catalogue: Catalogue, id: string): ImageModel | undefined {
  return catalogue.imageModels.get(id);
}

export function findMediaModel(catalogue: Catalogue, id: string): MediaModel | undefined {
  return findVideoModel(catalogue, id) ?? findImageModel(catalogue, id);
}

export function findTextModel(catalogue: Catalogue, id: string): TextModel | undefined {
  return catalogue.textModels.get(id);
}

/** Whether the responses format refuses the id with 400, in the catalogue or not (contract 4.8). */
export function isClaudeStyle(catalogue: Catalogue, id: string): boolean {
  return catalogue.claudeStylePrefixes.some((prefix) => id.startsWith(prefix));
}

/** Whether the model is answered on that format. */
export function answersFormat(model: TextModel, format: WireFormatName): boolean {
  return model.formats.includes(format);
}
