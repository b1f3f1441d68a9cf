/** Moderation in the widely used format, by the operator's own moderation service. Contract 4.13. */
import Joi from 'joi';
import { presentTypedError } from '../../../domain/error-envelope.ts';
import { arrayOf, boolean, component, object, text } from '../../../domain/json-schema.ts';
import type { ModerationContent, ModerationPart, ModerationResult } from '../../../providers/moderation.ts';
import { json } from '../../endpoint/answers.ts';
import { jsonBody } from '../../endpoint/body.ts';
import { endpoint, endpoints } from '../../endpoint/endpoint.ts';
import { list } from '../../../services/input/validation.ts';

const MAX_TEXTS = 100;
/** Moderation services take one image for each request. */
const MAX_PARTS = 10;

interface ModerationBody {
  readonly input: ModerationContent;
  readonly model?: string;
}

const part = Joi.alternatives(
  Joi.object({ type: Joi.valid('text').required(), text: Joi.string().required() }),
  Joi.object({
    type: Joi.valid('image_url').required(),
    image_url: Joi.object({
      url: Joi.string()
        .pattern(/^(https:\/\/|data:image\/)/)
        .required()
        .messages({ 'string.pattern.base': '{{#label}} must be an https link or a data URL of an image' }),
    }).required(),
  }),
);

/** Services judge one image with each request. */
function withOneImage(parts: readonly ModerationPart[], { error }: Joi.CustomHelpers) {
  return parts.filter(({ type }) => type === 'image_url').length > 1 ? error('array.oneImage') : parts;
}

const body = jsonBody<ModerationBody>(
  'CreateModeration',
  Joi.object<ModerationBody>({
    input: Joi.alternatives(
      Joi.string(),
      list(Joi.string(), { min: 1, max: MAX_TEXTS }),
      list<ModerationPart>(part, { min: 1, max: MAX_PARTS }).custom(withOneImage).messages({
        'array.oneImage': '{{#label}} must have at most one image; send each further image in a request of its own',
      }),
    )
      .required()
      .description('A text, several texts judged separately, or parts (texts and at most one image) judged together'),
    model: Joi.string().max(200).description('Returned unchanged in the answer. The operator chooses the service'),
  }),
  { text: { value: { input: 'I want to hug everybody.' } } },
);

const RESULT = component(
  'ModerationResult',
  object({
    flagged: boolean('Whether any category is flagged'),
    categories: { type: 'object', additionalProperties: { type: 'boolean' } },
    category_scores: { type: 'object', additionalProperties: { type: 'number', minimum: 0, maximum: 1 } },
    category_applied_input_types: {
      type: 'object',
      additionalProperties: { type: 'array', items: { type: 'string', enum: ['text', 'image'] } },
    },
  }),
);

const MODERATION = component('Moderation', object({ id: text(), model: text(), results: arrayOf(RESULT) }));

export const moderationEndpoints = endpoints('Moderation', {
  createModeration: endpoint({
    request: 'POST /v1/moderations',
    access: 'key',
    summary: 'Judge texts and images',
    description: 'Free of charge. Errors also contain `type`, and a `param` that is always null.',
    body,
    answers: { 200: { description: 'A result for each text, or one result for all parts', content: json(MODERATION) } },
    refusals: ['not_found', 'processing_unavailable'],
    presentError: presentTypedError,
    handle: async ({ body: { input, model = 'moderation' }, context }, { checkPublicUrl, moderation: { judge } }) => {
      // The operator's service may follow links within the operator's network.
      for (const url of linksOf(input)) await checkPublicUrl(url);
      const results = await judge(input);
      const id = `modr-${context.state.requestId.slice('req_'.length)}`;
      return { id, model, results: results.map((result) => present(result, input)) };
    },
  }),
});

function present({ flagged, categories, scores }: ModerationResult, input: ModerationContent): object {
  const kinds = new Set(typeof input === 'string' ? ['text'] : input.map(kindOf));
  return {
    flagged,
    categories,
    category_scores: scores,
    category_applied_input_types: Object.fromEntries(Object.keys(categories).map((name) => [name, [...kinds]])),
  };
}

/** The links to pictures; data URLs need no check. */
function linksOf(input: ModerationContent): readonly string[] {
  const parts = typeof input === 'string' ? [] : input;
  return parts.flatMap((part) =>
    typeof part !== 'string' && part.type === 'image_url' && part.image_url.url.startsWith('https:')
      ? [part.image_url.url]
      : [],
  );
}

function kindOf(item: string | { readonly type: string }): string {
  return typeof item !== 'string' && item.type === 'image_url' ? 'image' : 'text';
}
