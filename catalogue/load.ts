/** Reads the catalogue at start. No process starts with an invalid catalogue. */
import { fileURLToPath } from 'node:url';
import { OperatorError } from '../domain/operator-error.ts';
import {
  type CatalogueFile,
  type EmbeddingsEntry,
  type EmbeddingsRouteEntry,
  type FamilyEntry,
  type ImageEntry,
  type MediaRouteEntry,
  type RealtimeEntry,
  type RealtimeRouteEntry,
  type RerankEntry,
  type RerankRouteEntry,
  type Routed,
  type SoldText,
  type TextEntry,
  type TextRouteEntry,
  type VideoEntry,
  type VoiceEntry,
  type VoiceRouteEntry,
  catalogueSchema,
} from './schema.ts';
import { IMAGE_CHOICES } from '../domain/image-choices.ts';
import { IMAGE_TIERS } from '../domain/image-size.ts';
import { WIRE_FORMAT_NAMES } from '../domain/wire-format-name.ts';
import type { FieldNames, RankedRoute, RouteCost } from '../domain/media-route.ts';
import { parseRational } from '../domain/rational.ts';
import { NO_PARAMETERS } from '../domain/model-parameters.ts';
import { camelCased } from '../domain/field-names.ts';
import { type ReadVariable, writePath } from '../domain/substitute-variables.ts';
import { toAnswerTimeouts } from './answer-timeouts.ts';
import { findIdlePrices } from './check-prices.ts';
import {
  type Finding,
  type OperatorFile,
  parseOperatorFile,
  readOperatorFile,
  writeFindings,
} from './operator-file.ts';
import { findParameterFaults, toPriceModifiers } from './parameters.ts';
import { checkAgainst, type Checked } from './schema-findings.ts';
import { EMBEDDINGS, RERANK } from '../domain/policy.ts';
import type { TextPricing } from '../domain/pricing.ts';
import {
  countsTokens,
  toCostPricing,
  toEmbeddingsPricing,
  toRerankPricing,
  toTextPricing,
  toVoicePricing,
} from './text-pricing.ts';
import { type UncheckedModel, readUncheckedModels } from './unchecked-models.ts';
import type { Catalogue, ImageModel, MediaModelBase, NativeBatch, TextModel, TextRoute, VideoModel } from './types.ts';

/** The catalogue file is invalid. The message names the file and the path of each field to correct. */
export class CatalogueError extends OperatorError {
  override readonly name = 'CatalogueError';
}

/** The default for a catalogue without text models. */
const NO_TEXT: NonNullable<CatalogueFile['text']> = {
  assumed_output_tokens: 1,
  assumed_max_output_tokens: 1,
  assumed_context_tokens: 1,
  media_tokens: { image: 1, document: 1, audio: 1, video: 1 },
  claude_style_prefixes: [],
  families: [],
  embeddings: [],
  rerank: [],
  voice: [],
  realtime: [],
};

/** The catalogue file in this folder. */
export const DEFAULT_CATALOGUE = fileURLToPath(new URL('./catalogue.yaml', import.meta.url));
/** The example with models of real vendors. */
export const VENDORS_CATALOGUE = fileURLToPath(new URL('./vendors.yaml', import.meta.url));

/**
 * Reads and checks a catalogue file.
 *
 * @param readVariable returns the value of `${NAME}` in strings of the file
 * @throws CatalogueError if the file cannot be read or is invalid
 */
export function loadCatalogue(
  path: string = DEFAULT_CATALOGUE,
  readVariable: ReadVariable = () => undefined,
): Catalogue {
  return catalogueIn(readOperatorFile(path, readVariable));
}

/**
 * Checks the text of a catalogue file.
 *
 * @param text YAML, as explained in `catalogue.yaml`
 * @param name the name of the file in error messages
 * @throws CatalogueError
 */
export function parseCatalogue(text: string, name: string, readVariable: ReadVariable = () => undefined): Catalogue {
  return catalogueIn(parseOperatorFile(text, name, readVariable));
}

function catalogueIn(file: OperatorFile): Catalogue {
  const { value, findings } = checkCatalogue(file);
  if (value) return value;
  const errors = findings.filter(({ severity }) => severity === 'error');
  throw new CatalogueError([`${file.name} is wrong:`, ...writeFindings(errors)].join('\n  '));
}

/** Checks a catalogue without its upstreams. Returns all findings, and the catalogue if there are only warnings. */
export function checkCatalogue(file: OperatorFile): Checked<Catalogue> {
  const { value, findings } = checkAgainst(file, catalogueSchema);
  const models = readUncheckedModels(file.document);
  const all = [
    ...findings,
    ...repeatedIds(file, models),
    ...models.flatMap((model) => findIdlePrices(file, model)),
    ...(['videos', 'images'] as const).flatMap((kind) =>
      (value?.media[kind] ?? []).flatMap((entry, index) => findParameterFaults(file, ['media', kind, index], entry)),
    ),
  ];
  const isRight = value !== null && all.every(({ severity }) => severity === 'warning');
  return isRight ? { value: buildCatalogue(value), findings: all } : { value: null, findings: all };
}

/** Finds ids that occur twice, across all kinds of models. One of the two models would be unreachable. */
function repeatedIds(file: OperatorFile, models: readonly UncheckedModel[]): readonly Finding[] {
  const known = new Set<unknown>();
  return models.flatMap(({ path, entry: { id } }) => {
    if (typeof id !== 'string' || !known.has(id)) {
      known.add(id);
      return [];
    }
    return [
      file.finding([...path, 'id'], `"${writePath([...path, 'id'])}" must not be "${id}": another model has this id`),
    ];
  });
}

function buildCatalogue({ version, media, text = NO_TEXT }: CatalogueFile): Catalogue {
  const own = [...media.videos, ...media.images].flatMap(({ parameters }) => Object.keys(parameters?.properties ?? {}));
  const unsupportedFields = new Set([...media.unsupported_fields, ...IMAGE_CHOICES.map(({ name }) => name), ...own]);
  return {
    version,
    videoModels: byId(media.videos.map((entry) => toVideoModel(entry, unsupportedFields))),
    imageModels: byId(media.images.map((entry) => toImageModel(entry, unsupportedFields))),
    textModels: byId([
      ...text.families.flatMap((family) => family.models.map((entry) => toTextModel(family, entry, text))),
      ...text.embeddings.map((entry) => toEmbeddingsModel(entry, text)),
      ...text.rerank.map((entry) => toRerankModel(entry, text)),
      ...text.voice.map((entry) => toVoiceModel(entry, text)),
      ...text.realtime.map((entry) => toRealtimeModel(entry, text)),
    ]),
    claudeStylePrefixes: text.claude_style_prefixes,
  };
}

function toVideoModel(entry: VideoEntry, unsupportedFields: ReadonlySet<string>): VideoModel {
  return {
    kind: 'video',
    ...toMediaModel(entry, unsupportedFields),
    pricing: {
      per: entry.usd_per_video ? 'video' : 'second',
      byResolution: entry.usd_per_video ?? entry.usd_per_second ?? {},
      modifiers: toPriceModifiers(entry.price_modifiers),
    },
    promptCharacters: entry.prompt_characters,
    maxReferenceVideos: entry.max_reference_videos,
    maxReferenceAudios: entry.max_reference_audios,
    durationSeconds: toDurations(entry),
    defaultResolution: entry.default_resolution,
  };
}

function toImageModel(entry: ImageEntry, unsupportedFields: ReadonlySet<string>): ImageModel {
  return {
    kind: 'image',
    ...toMediaModel(entry, unsupportedFields),
    pricing: {
      per: 'image',
      byResolution: toTierPrices(entry.usd_per_image),
      modifiers: toPriceModifiers(entry.price_modifiers),
    },
    choices: new Map(
      IMAGE_CHOICES.flatMap(({ name, list }) => {
        const values = entry[list];
        const usual = entry[`default_${name}`];
        return values && usual !== undefined ? [[name, { list, values, default: usual }] as const] : [];
      }),
    ),
    defaultResolution: entry.default_resolution,
  };
}

/** Converts the fields that videos and images share. */
function toMediaModel(
  entry: VideoEntry | ImageEntry,
  unsupportedFields: ReadonlySet<string>,
): Omit<MediaModelBase, 'pricing'> {
  return {
    id: entry.id,
    capabilityVersion: entry.capability_version,
    routes: readRoutes(routesOf(entry), toRoute),
    resultCheck: entry.result_check,
    images: entry.images,
    aspectRatios: entry.aspect_ratios,
    defaultAspectRatio: entry.default_aspect_ratio,
    parameters: entry.parameters ?? NO_PARAMETERS,
    unsupportedFields,
  };
}

/** Converts the durations. The default of a list is its first value. */
function toDurations({ duration_seconds: range, durations_seconds: list }: VideoEntry): VideoModel['durationSeconds'] {
  if (range) return { ...range, values: null };
  const values = list ?? [];
  return { min: Math.min(...values), max: Math.max(...values), default: values[0] ?? 0, values };
}

function toTierPrices(prices: ImageEntry['usd_per_image']): ImageModel['pricing']['byResolution'] {
  if (typeof prices !== 'bigint') return prices;
  return Object.fromEntries(IMAGE_TIERS.map((tier) => [tier, prices]));
}

function routesOf<Entry>({ route, routes }: Routed<Entry>): readonly Entry[] | undefined {
  return route === undefined ? routes : [route];
}

/** @param toRoute receives an entry and its index in the list */
function readRoutes<Entry, Route>(
  entries: readonly Entry[] | undefined,
  toRoute: (entry: Entry, index: number) => Route,
): readonly [Route, ...Route[]] {
  const [first, ...others] = entries ?? [];
  if (first === undefined) throw new CatalogueError('a model without a route has passed the check');
  return [toRoute(first, 0), ...others.map((entry, index) => toRoute(entry, index + 1))];
}

/** @param index the index in the list, which is the default order */
function toRoute({ fields, cost, ...entry }: MediaRouteEntry, index: number): RankedRoute {
  return {
    order: index,
    ...camelCased(entry),
    ...(fields !== undefined && { fields: toFieldNames(fields) }),
    ...(cost !== undefined && { cost: toCost(cost) }),
  };
}

function toFieldNames(fields: NonNullable<MediaRouteEntry['fields']>): FieldNames {
  return Object.fromEntries(Object.entries(fields).map(([input, to]) => [input, typeof to === 'string' ? { to } : to]));
}

function toCost({
  usd_per_second: second,
  usd_per_render: render,
  usd_per_unit: unit,
  modifiers,
}: NonNullable<MediaRouteEntry['cost']>): RouteCost {
  const [per, prices] =
    second !== undefined
      ? (['second', second] as const)
      : render !== undefined
        ? (['render', render] as const)
        : (['unit', unit ?? {}] as const);
  const list = typeof prices === 'bigint' ? { '*': prices } : prices;
  return {
    per,
    prices: Object.fromEntries(Object.entries(list).map(([name, price]) => [name, String(price)])),
    ...(modifiers && { modifiers: toPriceModifiers(modifiers) }),
  };
}

function toTextModel(family: FamilyEntry, entry: TextEntry, assumed: NonNullable<CatalogueFile['text']>): TextModel {
  return {
    ...toSoldText(entry),
    family: family.family,
    maxOutputTokens: entry.max_output_tokens,
    maxInputTokens: entry.context_tokens ?? assumed.assumed_context_tokens,
    outputTokenLimit: entry.max_output_tokens ?? assumed.assumed_max_output_tokens,
    assumedOutputTokens: entry.assumed_output_tokens ?? assumed.assumed_output_tokens,
    mediaTokens: { ...assumed.media_tokens, ...entry.media_tokens },
    reasoning: entry.reasoning,
    reasoningEfforts: entry.reasoning_efforts ?? family.reasoning_efforts,
    responsesFields: family.responses_fields,
    compatibility: entry.compatibility ?? family.compatibility,
    ...(entry.tools !== undefined && { webSearch: { maxCalls: entry.tools.web_search.max_calls } }),
    formats: family.formats ?? WIRE_FORMAT_NAMES,
    routes: readRoutes(routesOf(entry) ?? routesOf(family), (route, index) => toTextRoute(route, index, entry.id)),
    pricing: withBatchFactor(toTextPricing(entry), assumed),
  };
}

function toSoldText({ id, context_tokens, free, funded_only, requires_top_up, legacy }: SoldText) {
  return { ...camelCased({ id, context_tokens, funded_only, requires_top_up, legacy }), free: free ?? false };
}

/** The family and the only format of embedding models. */
const EMBEDDINGS_NAME = 'embeddings';

/** The context of an embedding model applies to each input. */
function toEmbeddingsModel(entry: EmbeddingsEntry, assumed: NonNullable<CatalogueFile['text']>): TextModel {
  const toRoute = ({ cost, ...written }: EmbeddingsRouteEntry, index: number): TextRoute => ({
    ...toTextRoute(written, index, entry.id),
    ...(cost !== undefined && { cost: toEmbeddingsPricing(cost) }),
  });
  return {
    ...toSoldText(entry),
    family: EMBEDDINGS_NAME,
    maxOutputTokens: null,
    maxInputTokens: (entry.context_tokens ?? assumed.assumed_context_tokens) * EMBEDDINGS.maxInputs,
    outputTokenLimit: 0,
    assumedOutputTokens: 0,
    mediaTokens: assumed.media_tokens,
    reasoning: false,
    reasoningEfforts: [],
    responsesFields: [],
    compatibility: 'full',
    formats: [EMBEDDINGS_NAME],
    routes: readRoutes(routesOf(entry), toRoute),
    pricing: withBatchFactor(toEmbeddingsPricing(entry.prices), assumed),
  };
}

/** The family and the only format of models that rank documents. */
const RERANK_NAME = 'rerank';

/** The context applies to each document with its query. A price without tokens counts none. */
function toRerankModel(
  entry: RerankEntry,
  { assumed_context_tokens, media_tokens }: NonNullable<CatalogueFile['text']>,
): TextModel {
  const toRoute = ({ cost, ...written }: RerankRouteEntry, index: number): TextRoute => ({
    ...toTextRoute(written, index, entry.id),
    ...(cost !== undefined && { cost: toRerankPricing(cost) }),
  });
  const hasTokens = countsTokens(entry.prices ?? {});
  return {
    ...toSoldText(entry),
    family: RERANK_NAME,
    maxOutputTokens: null,
    maxInputTokens: hasTokens ? (entry.context_tokens ?? assumed_context_tokens) * RERANK.maxDocuments : 0,
    outputTokenLimit: 0,
    assumedOutputTokens: 0,
    mediaTokens: media_tokens,
    reasoning: false,
    reasoningEfforts: [],
    responsesFields: [],
    compatibility: 'full',
    formats: [RERANK_NAME],
    routes: readRoutes(routesOf(entry), toRoute),
    pricing: toRerankPricing(entry.prices),
  };
}

function withBatchFactor(
  pricing: TextPricing,
  { batch_factor: batchFactor }: NonNullable<CatalogueFile['text']>,
): TextPricing {
  return batchFactor === undefined ? pricing : { ...pricing, batchFactor };
}

const VOICE_FAMILY = 'voice';

/** A price without tokens counts none. */
function toVoiceModel(
  entry: VoiceEntry,
  { assumed_context_tokens, assumed_max_output_tokens, media_tokens }: NonNullable<CatalogueFile['text']>,
): TextModel {
  const toRoute = ({ cost, ...written }: VoiceRouteEntry, index: number): TextRoute => ({
    ...toTextRoute(written, index, entry.id),
    ...(cost !== undefined && { cost: toVoicePricing(cost) }),
  });
  const hasTokens = countsTokens(entry.prices ?? {});
  const outputTokenLimit = hasTokens ? (entry.max_output_tokens ?? assumed_max_output_tokens) : 0;
  return {
    ...toSoldText(entry),
    family: VOICE_FAMILY,
    maxOutputTokens: entry.max_output_tokens,
    maxInputTokens: hasTokens ? (entry.context_tokens ?? assumed_context_tokens) : 0,
    outputTokenLimit,
    assumedOutputTokens: outputTokenLimit,
    mediaTokens: media_tokens,
    reasoning: false,
    reasoningEfforts: [],
    responsesFields: [],
    compatibility: 'full',
    formats: entry.formats,
    routes: readRoutes(routesOf(entry), toRoute),
    pricing: toVoicePricing(entry.prices),
  };
}

/** The family and the only format of models of realtime sessions. */
const REALTIME_NAME = 'realtime';

/** The context bounds the input of each response of a session. */
function toRealtimeModel(entry: RealtimeEntry, { media_tokens }: NonNullable<CatalogueFile['text']>): TextModel {
  const toRoute = ({ cost, ...written }: RealtimeRouteEntry, index: number): TextRoute => ({
    ...toTextRoute(written, index, entry.id),
    ...(cost !== undefined && { cost: toTextPricing({ prices: cost, tiers: [], peaks: [] }) }),
  });
  return {
    ...toSoldText(entry),
    family: REALTIME_NAME,
    maxOutputTokens: entry.max_output_tokens,
    maxInputTokens: entry.context_tokens,
    outputTokenLimit: entry.max_output_tokens,
    assumedOutputTokens: entry.max_output_tokens,
    mediaTokens: media_tokens,
    reasoning: false,
    reasoningEfforts: [],
    responsesFields: [],
    compatibility: 'full',
    formats: [REALTIME_NAME],
    routes: readRoutes(routesOf(entry), toRoute),
    pricing: toTextPricing({ prices: entry.prices, tiers: [], peaks: [] }),
  };
}

/** @param index the index in the list, which is the default order */
function toTextRoute(route: TextRouteEntry, index: number, id: string): TextRoute {
  const { cost, batch, first_byte_timeout_s: _firstByte, silence_timeout_s: _silence, ...written } = route;
  return {
    model: id,
    order: index,
    ...camelCased(written),
    ...toAnswerTimeouts(route),
    ...(cost !== undefined && { cost: toCostPricing(cost) }),
    ...(batch !== undefined && { batch: toNativeBatch(batch) }),
  };
}

function toNativeBatch(batch: NonNullable<TextRouteEntry['batch']>): NativeBatch {
  const { remainder = 'direct', cost_factor: costFactor = parseRational('0.5') } = batch === 'native' ? {} : batch;
  return { remainder, costFactor };
}

function byId<Model extends { readonly id: string }>(models: readonly Model[]): ReadonlyMap<string, Model> {
  return new Map(models.map((model) => [model.id, model]));
}
