/** The models that everybody may see, without the operator's routes and costs. */
import { offerModel, type OfferedModel } from '../../catalogue/offer.ts';
import { allModels, type Catalogue, type MediaModel, speaks, type TextModel } from '../../catalogue/types.ts';
import type { ModelControl } from './model-control.ts';

export const CAPABILITIES = [
  'picture_input',
  'video_input',
  'audio_input',
  'audio_output',
  'reasoning',
  'web_search',
  'free',
] as const;
export type Capability = (typeof CAPABILITIES)[number];

/** A model at the catalogue's prices. */
export interface PublicModel extends Pick<OfferedModel, 'id' | 'kind' | 'prices' | 'terms'> {
  readonly model: MediaModel | TextModel;
  /** Null for pictures and videos. */
  readonly family: string | null;
  readonly capabilities: readonly Capability[];
}

/** Terms about how the operator serves a model. */
const OWN_TERMS = ['routes', 'result_check'];

/** Lists the models in the order of the catalogue, without ids that only old clients use, and disabled models. */
export function publicOffer(
  catalogue: Catalogue,
  { disabledBy }: Pick<ModelControl, 'disabledBy'>,
): readonly PublicModel[] {
  return allModels(catalogue)
    .filter((model) => !('legacy' in model && model.legacy) && disabledBy(model.id) === null)
    .map((model) => {
      const { id, kind, prices, terms } = offerModel(model);
      const shown = Object.entries(terms).filter(([name]) => !OWN_TERMS.includes(name));
      return {
        id,
        kind,
        prices,
        terms: Object.fromEntries(shown),
        model,
        family: 'family' in model ? model.family : null,
        capabilities: CAPABILITIES.filter((capability) => HAS[capability](model)),
      };
    });
}

/** The catalogue does not list the kinds of input of text models: they depend on the format of the request. */
const HAS: Readonly<Record<Capability, (model: MediaModel | TextModel) => boolean>> = {
  picture_input: (model) => 'kind' in model && model.images.max > 0,
  video_input: (model) => 'maxReferenceVideos' in model && model.maxReferenceVideos !== null,
  audio_input: (model) =>
    'kind' in model
      ? 'maxReferenceAudios' in model && model.maxReferenceAudios !== null
      : model.formats.some((format) => ['transcriptions', 'translations', 'realtime'].includes(format)),
  audio_output: (model) =>
    !('kind' in model) &&
    (model.routes.some(speaks) || model.formats.some((format) => ['speech', 'realtime'].includes(format))),
  reasoning: (model) => !('kind' in model) && model.reasoning,
  web_search: (model) => !('kind' in model) && model.webSearch !== undefined,
  free: (model) => !('kind' in model) && model.free,
};
