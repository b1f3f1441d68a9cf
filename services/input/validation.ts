/**
 * Checks JSON request bodies. The rules are Joi schemas, which also generate the API description; all messages come
 * from one table. The schema's `meta` adds, under `openapi`, the parts of a rule that `describe()` omits.
 */
import Joi from 'joi';
import { badRequest, type ServiceError } from '../../domain/errors.ts';
import { type IdKind, isId } from '../../domain/ids.ts';
import { isObject, type JsonObject } from '../../domain/json.ts';
import { isStorable } from '../../domain/storable-text.ts';
import { idOf, type JsonSchema, text } from '../../domain/json-schema.ts';

const UNSTORABLE = 'must not contain NUL characters or unpaired surrogates';

/** The message for each kind of error, unless its schema has its own: contract 4.2. */
const SENTENCES = {
  'any.required': '{{#label}} is required',
  'string.base': '{{#label}} must be a string',
  'string.empty': '{{#label}} has an unsupported length',
  'text.length': '{{#label}} has an unsupported length',
  'text.unstorable': `{{#label}} ${UNSTORABLE}`,
  'boolean.base': '{{#label}} must be true or false',
  'number.base': '{{#label}} is outside its supported range',
  'number.integer': '{{#label}} is outside its supported range',
  'number.min': '{{#label}} is outside its supported range',
  'number.max': '{{#label}} is outside its supported range',
  'number.infinity': '{{#label}} is outside its supported range',
  'number.unsafe': '{{#label}} is outside its supported range',
  'array.base': '{{#label}} must be an array',
  'array.min': '{{#label}} requires at least {{#limit}} item',
  'array.max': '{{#label}} accepts at most {{#limit}} items',
  'array.includes': '{{#label}} has an item that is not allowed',
  'object.base': '{{#label}} must be an object',
  'object.unknown': '{{#label}} is unknown',
  'link.one': '{{#label}} must be a public HTTPS URL',
  'link.refused': '"{{#key}}[{{#index}}]" must be a public HTTPS URL',
  'object.without': 'Cannot combine "{{#main}}" with "{{#peer}}"',
};

const OPTIONS: Joi.ValidationOptions = {
  abortEarly: false,
  convert: false,
  // Compiles the messages once instead of for each body.
  messages: Object.fromEntries(Object.entries(SENTENCES).map(([fault, text]) => [fault, Joi.expression(text)])),
};

/** A field reports one fault. Describing all faults of twenty thousand items would take too long. */
const FIRST_FAULT: Joi.ValidationOptions = { abortEarly: true };

/** Fields that the API knows but this model does not support. */
export interface UnsupportedFields {
  readonly model: string;
  readonly names: ReadonlySet<string>;
}

/**
 * Creates the check of a kind of body. Of several errors, it reports the one whose field comes first in the schema.
 * Fields outside the schema come last, fields of other models before unknown ones.
 *
 * @param schema an object whose keys are in the order in which errors are reported
 * @param unsupported fields with a message of their own
 * @returns a function that returns the checked body, or throws ServiceError `bad_request`
 */
export function createValidator<Body>(
  schema: Joi.ObjectSchema<Body>,
  unsupported: UnsupportedFields = { model: '', names: new Set() },
): (body: unknown) => Body {
  const fields = Object.keys(schema.describe().keys ?? {});
  const checked = schema.fork(fields, (field) => field.prefs(FIRST_FAULT));
  return (body) => {
    const given = requireObject(body);
    // Joi gets only known fields: it would lose a field named __proto__, and would describe each of up to a
    // hundred thousand unknown fields.
    const known = Object.fromEntries(
      fields.filter((field) => Object.hasOwn(given, field)).map((field) => [field, given[field]]),
    );
    const { error, value } = checked.validate(known, OPTIONS);
    if (error) throw refusalOf(firstFault(error.details, fields));
    refuseOtherFields(given, fields, unsupported);
    return value;
  };
}

/** Makes an error that contains the rule, and no part of the client's value. */
function refusalOf({ message, path, type, context = {} }: Joi.ValidationErrorItem): ServiceError {
  const kind = type === 'string.pattern.name' ? `pattern.${String(context['name'])}` : type;
  const { limit, min, max, valids, index } = context;
  return badRequest(message, { path, kind, values: { limit, min, max, valids, index } });
}

/**
 * Creates the reader of the texts in a query.
 *
 * @returns a function that returns the values of the texts, or throws ServiceError `bad_request` for the first wrong one
 */
export function createTextReader<Values extends object>(
  schemas: { readonly [Name in keyof Values]: Joi.AnySchema<Values[Name]> } | undefined,
): (texts: Readonly<Record<string, string>>) => Values {
  const schema = Joi.object<Values>({ ...schemas });
  const read = (texts: Readonly<Record<string, string>>): Joi.ValidationResult<Values> =>
    schema.validate(texts, { ...OPTIONS, ...FIRST_FAULT });
  // Most requests have no query: checked once for all of them.
  const ofNone = read({});
  return (texts) => {
    const { error, value } = Object.keys(texts).length === 0 ? ofNone : read(texts);
    if (error) throw badRequest(error.message);
    return value;
  };
}

/** A field that a body must have. */
interface SentField<Value> {
  readonly required: Joi.AnySchema<Value>;
}

export function requiredField<Value>(schema: Joi.AnySchema<Value>): SentField<Value> {
  return { required: schema.required() };
}

/** The values of a schema, and null. */
export function orNull<Value>(schema: Joi.AnySchema<Value>): Joi.AnySchema<Value | null> {
  return schema.allow(null);
}

/** The fields of a body, in the order of their errors. Fields that are not {@link requiredField} are optional. */
type BodyFields = Readonly<Record<string, Joi.AnySchema | SentField<unknown>>>;

/** The type of a body with such fields. */
type Accepted<Fields extends BodyFields> = {
  readonly [
    Name in keyof Fields as Fields[Name] extends SentField<unknown> ? Name : never
  ]: Fields[Name] extends SentField<infer Value> ? Value : never;
} & {
  readonly [
    Name in keyof Fields as Fields[Name] extends SentField<unknown> ? never : Name
  ]?: Fields[Name] extends Joi.AnySchema<infer Value> ? Value : never;
};

/** The schema of a JSON object, whose type follows from its fields. */
export function bodySchema<Fields extends BodyFields>(fields: Fields): Joi.ObjectSchema<Accepted<Fields>> {
  return Joi.object(
    Object.fromEntries(
      Object.entries(fields).map(([name, field]) => [name, Joi.isSchema(field) ? field : field.required]),
    ),
  );
}

/** The type of the values that a schema accepts. */
export type BodyOf<Schema> = Schema extends Joi.ObjectSchema<infer Body> ? Body : never;

/** The body as an object. @throws ServiceError `bad_request` for a list, a string, null and so on */
export function requireObject(body: unknown): JsonObject {
  if (!isObject(body)) throw badRequest('The request body must be a JSON object');
  return body;
}

/** One of a few strings. For any other value of any type, the message lists the strings. */
export function choice<const Value extends string>(values: readonly Value[]): Joi.AnySchema<Value> {
  return Joi.valid(...values).messages({ 'any.only': `{{#label}} must be one of: [${values.join(' ')}]` });
}

/**
 * Free text, counted in code points: a CJK character or an emoji is one.
 *
 * @param length `max` is absent if only the body's size limits the text
 */
export function freeText(length: { readonly min: number; readonly max?: number }): Joi.StringSchema {
  const { min, max = Number.POSITIVE_INFINITY } = length;
  return Joi.string()
    .custom((text: string, helpers) => {
      // Counts code points only near the limit, since counting takes long for a large text.
      const characters = length.max === undefined || text.length > 2 * max ? text.length : Array.from(text).length;
      if (characters < min || characters > max) return helpers.error('text.length', { min, max });
      return isStorable(text) ? text : helpers.error('text.unstorable');
    })
    .meta({ openapi: { minLength: min, ...(length.max !== undefined && { maxLength: length.max }) } });
}

/** Any text that can be stored. */
export function storableText(): Joi.AnySchema<string> {
  return textOf(text(), UNSTORABLE, (given) => (isStorable(given) ? given : null));
}

/**
 * A text with a form of its own.
 *
 * @param schema describes the text
 * @param refusal the error, after the name of the field
 * @param read returns the value of the text; null if the text has another form
 */
export function textOf<Value>(
  schema: JsonSchema,
  refusal: string,
  read: (text: string) => Value | null,
): Joi.AnySchema<Value> {
  return Joi.any()
    .custom((text: string, helpers) => read(text) ?? helpers.message({ custom: `{{#label}} ${refusal}` }))
    .meta({ openapi: schema });
}

/** An id of a kind, whether or not it exists. */
export function idText(kind: IdKind): Joi.AnySchema<string> {
  return textOf(idOf(kind), 'is not a valid id', (id) => (isId(kind, id) ? id : null));
}

/** Arrays that check their length before their items. Joi's own check all items first. */
const bounded: Pick<Joi.Root, 'array'> = Joi.extend({
  type: 'array',
  base: Joi.array(),
  validate: (value: unknown, { schema, error }: Joi.CustomHelpers) => {
    const limit: unknown = schema.$_getRule('max')?.args?.['limit'];
    const isTooLong = Array.isArray(value) && typeof limit === 'number' && value.length > limit;
    return isTooLong ? { value, errors: [error('array.max', { limit })] } : undefined;
  },
});

/** A list. Its length is checked before its items, so that a long list is refused at once. */
export function list<Item>(
  items: Joi.Schema,
  { min = 0, max }: { min?: number; max: number },
): Joi.ArraySchema<Item[]> {
  return bounded.array<Item[]>().min(min).max(max).items(items);
}

/**
 * A list of links to files that upstreams read. Reports only the first bad link; with a check for each item, Joi would
 * describe every bad link, of which there may be a hundred thousand.
 *
 * @param isInputLink whether a text is, by its syntax, a link that may be followed; `http` links included if the
 *   service's own files have them
 */
export function linkList(maxItems: number, isInputLink: (text: string) => boolean): Joi.ArraySchema {
  const isLink = isStorableLink(isInputLink);
  return Joi.array()
    .min(1)
    .max(maxItems)
    .custom((items: unknown[], helpers) => {
      const index = items.slice(0, maxItems).findIndex((item) => !isLink(item));
      return index === -1 ? items : helpers.error('link.refused', { index });
    })
    .meta({ openapi: { items: LINK_SCHEMA } });
}

/** One link to a file, like those of {@link linkList}. */
export function link(isInputLink: (text: string) => boolean): Joi.StringSchema {
  const isLink = isStorableLink(isInputLink);
  return Joi.string()
    .custom((text: string, helpers) => (isLink(text) ? text : helpers.error('link.one')))
    .meta({ openapi: LINK_SCHEMA });
}

const LINK_SCHEMA = { type: 'string', format: 'uri', pattern: '^https?://' } as const;

function isStorableLink(isInputLink: (text: string) => boolean): (item: unknown) => boolean {
  return (item) => typeof item === 'string' && isStorable(item) && isInputLink(item);
}

/** Returns the first fault by field; faults of one field stay in the order of its rules. */
function firstFault(faults: readonly Joi.ValidationErrorItem[], fields: readonly string[]): Joi.ValidationErrorItem {
  // A rule between fields has no path. Its error comes after the errors of its main field.
  const rank = ({ path, context }: Joi.ValidationErrorItem): number =>
    path.length > 0 ? fields.indexOf(String(path[0])) : fields.indexOf(String(context?.['main'])) + 0.5;
  return faults.reduce((first, fault) => (rank(fault) < rank(first) ? fault : first));
}

function refuseOtherFields(body: JsonObject, known: readonly string[], unsupported: UnsupportedFields): void {
  const others = Object.keys(body).filter((field) => !known.includes(field));
  const ofOtherModels = others.find((field) => unsupported.names.has(field));
  if (ofOtherModels !== undefined) {
    throw badRequest(`field "${ofOtherModels}" is not supported by model ${unsupported.model}`);
  }
  if (others[0] !== undefined) throw badRequest(`unknown field: ${others[0]}`);
}
