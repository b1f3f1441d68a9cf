/** Describes the bodies of the create calls for videos and images. */
import type Joi from 'joi';
import type { Catalogue, MediaModel } from '../../catalogue/types.ts';
import { component, type JsonSchema } from '../../domain/json-schema.ts';
import type { MediaRequestContext } from '../../services/input/media-request.ts';
import { catalogueComponent } from './components.ts';
import { toJsonSchema } from './joi-schema.ts';

/** Accepts any link. For descriptions of schemas, which check no body. */
export const ANY_LINK: MediaRequestContext = { isInputLink: () => true };

/**
 * Adds the bodies of a create call to the API description: one schema for each model, and one for all models.
 *
 * @param schemaOf the check of a model's bodies
 */
export function describeByModel<Model extends MediaModel>(
  name: string,
  modelsOf: (catalogue: Catalogue) => ReadonlyMap<string, Model>,
  schemaOf: (model: Model, context: MediaRequestContext) => Joi.ObjectSchema,
): JsonSchema {
  return catalogueComponent(name, (catalogue) => {
    const models = [...modelsOf(catalogue)];
    if (models.length === 0) return { not: {}, description: 'No such model' };
    const schemas = models.map(
      ([id, model]) => [id, component(`${name}.${id}`, toJsonSchema(schemaOf(model, ANY_LINK)))] as const,
    );
    const mapping = Object.fromEntries(schemas.map(([id, { $ref }]) => [id, $ref]));
    return { oneOf: schemas.map(([, schema]) => schema), discriminator: { propertyName: 'model', mapping } };
  });
}
