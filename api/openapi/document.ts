/**
 * The contract as an OpenAPI 3.1 document (https://spec.openapis.org/oas/v3.1.0). The schemas of requests follow from
 * their checks. The compiler compares the schemas of answers with the code that writes the answers.
 */
import type { Catalogue } from '../../catalogue/types.ts';
import type { JsonSchema } from '../../domain/json-schema.ts';
import { isObject } from '../../domain/json.ts';
import { componentsIn } from './components.ts';
import { type Operation, type PathItems, renderOperation, TAGS } from './operation.ts';
import { HEADERS, SECURITY_SCHEMES, SHARED_RESPONSES, SHARED_SCHEMAS } from './shared.ts';
import { TEXT_RESPONSES, textSchemas } from './text.ts';
import { EVENTS } from '../routes/webhooks/events.ts';

export interface OpenApiDocument {
  readonly openapi: string;
  readonly paths: PathItems;
  readonly webhooks: PathItems;
  readonly components: { readonly schemas: Readonly<Record<string, JsonSchema>>; readonly [section: string]: unknown };
  readonly [section: string]: unknown;
}

const DESCRIPTION = `One gateway to image, video and text models, billed per use in USD.

**Media** is created by tasks: a create call reserves the price and returns a task at once. \`GET /v1/tasks/{task_id}\` and
webhooks return the result. Success settles the price; failure refunds the full price.

**Text** is answered directly, whole or as a stream, in four formats. The text address serves the same paths, without the
cut-off of whole answers after 100 seconds.

**Errors** have one envelope (the text formats have their own) with a \`code\` for programs, and name the remedy. Retry only
errors with \`retryable\`, after the time in \`Retry-After\`. A wrong method answers 405 with \`Allow\`, and an unknown path 404,
both in the common envelope.`;

/** Describes endpoints, with the models of a catalogue. */
export function createOpenApiDocument(endpoints: readonly Operation[], catalogue: Catalogue): OpenApiDocument {
  const paths = pathsOf(endpoints.map(withModelsOf(catalogue)));
  const text = textSchemas(catalogue);
  return {
    openapi: '3.1.0',
    info: {
      title: 'Genway',
      version: '1',
      description: DESCRIPTION,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    tags: Object.entries({ ...TAGS, Models: `${TAGS.Models}\n\n${listOfModels(catalogue)}` }).map(
      ([name, description]) => ({ name, description }),
    ),
    paths,
    webhooks: EVENTS,
    components: {
      schemas: { ...SHARED_SCHEMAS, ...text, ...componentsIn([paths, EVENTS, text], catalogue) },
      responses: { ...SHARED_RESPONSES, ...TEXT_RESPONSES },
      headers: HEADERS,
      securitySchemes: SECURITY_SCHEMES,
    },
  };
}

/** A table of the catalogue's models. */
function listOfModels({ version, videoModels, imageModels, textModels }: Catalogue): string {
  const rows = [
    ...Array.from(videoModels.keys(), (id) => `| \`${id}\` | video | \`POST /v1/videos/tasks\` |`),
    ...Array.from(imageModels.keys(), (id) => `| \`${id}\` | image | \`POST /v1/images/tasks\` |`),
    ...Array.from(textModels.values(), ({ id, formats }) => `| \`${id}\` | text | ${formats.join(', ')} |`),
  ];
  return [`Catalogue ${version}:`, '', '| model | kind | endpoint or format |', '|---|---|---|', ...rows].join('\n');
}

/** Removes the examples of an operation whose model is not in the catalogue. */
function withModelsOf({ videoModels, imageModels, textModels }: Catalogue): (operation: Operation) => Operation {
  const isKnown = (id: unknown): boolean =>
    typeof id !== 'string' || videoModels.has(id) || imageModels.has(id) || textModels.has(id);
  return (operation) => {
    const { body } = operation;
    const content = body?.content['application/json'];
    if (body === undefined || !isObject(content) || !isObject(content['examples'])) return operation;
    const examples = Object.entries(content['examples']).filter(([, example]) =>
      isKnown(Object(Object(example)['value'])['model']),
    );
    const json = { ...content, examples: Object.fromEntries(examples) };
    return { ...operation, body: { ...body, content: { ...body.content, 'application/json': json } } };
  };
}

function pathsOf(operations: readonly Operation[]): OpenApiDocument['paths'] {
  const paths: Record<string, Record<string, JsonSchema>> = {};
  for (const operation of operations) {
    const path = (paths[operation.path] ??= {});
    path[operation.method] = renderOperation(operation);
  }
  return paths;
}
