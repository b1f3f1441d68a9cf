/** Converts the errors of a schema to sentences that name the accepted values of each field. */
import Joi from 'joi';
import { type FieldPath, writePath } from '../domain/substitute-variables.ts';
import { isObject, type JsonObject, listOf } from '../domain/json.ts';
import { nearest } from './nearest.ts';
import type { Finding, OperatorFile } from './operator-file.ts';

export type Checked<Value> =
  | { readonly value: Value; readonly findings: readonly Finding[] }
  | { readonly value: null; readonly findings: readonly Finding[] };

/** @returns all findings; and the value if there are none */
export function checkAgainst<Value>(file: OperatorFile, schema: Joi.ObjectSchema<Value>): Checked<Value> {
  if (file.written === null && file.findings.length > 0) return { value: null, findings: file.findings };
  const { error, value } = schema.validate(file.document, { convert: false, abortEarly: false });
  const details = (error?.details ?? []).filter(({ path }) => !file.unsetPaths.has(writePath(path)));
  const shape = details.length === 0 ? {} : shapeOf(schema);
  const findings = [...file.findings, ...details.map((detail) => findingOf(file, shape, detail))];
  return error || findings.length > 0 ? { value: null, findings } : { value, findings };
}

const shapes = new WeakMap<Joi.ObjectSchema, JsonObject>();

/** The description of a schema, which takes longer than the check of a file. */
function shapeOf(schema: Joi.ObjectSchema): JsonObject {
  const shape = shapes.get(schema) ?? schema.describe();
  shapes.set(schema, shape);
  return shape;
}

function findingOf(file: OperatorFile, shape: JsonObject, detail: Joi.ValidationErrorItem): Finding {
  const { path, type, context = {} } = detail;
  const label = writePath(path);
  switch (type) {
    case 'object.unknown': {
      const known = fieldsAt(shape, path.slice(0, -1));
      const what = known.length === 0 ? 'is not allowed here' : 'is not a field here';
      return file.finding(path, `"${label}" ${what}${choose(String(path.at(-1)), known)}`, { at: 'name' });
    }
    case 'any.only': {
      const values = valuesOf(context['valids'], file, path);
      const written = valueAt(file.written, path);
      if (values.length === 0 || typeof written !== 'string') return file.finding(path, detail.message);
      return file.finding(
        path,
        `"${label}" must be one of those that there are, not "${written}"${choose(written, values)}`,
      );
    }
    case 'any.required': {
      const allowed = shapeAt(shape, path).flatMap(({ allow }) => listOf(allow));
      const values = valuesOf(allowed, file, path);
      return file.finding(path, `${detail.message}${values.length > 0 ? `: it may be ${values.join(', ')}` : ''}`);
    }
    case 'array.unique': {
      const field = typeof context['path'] === 'string' ? [...path, context['path']] : path;
      return file.finding(field, `"${writePath(field)}" occurs twice`);
    }
    default: {
      const problem = REWORDED[type];
      return file.finding(
        path,
        problem === undefined ? detail.message.replaceAll('ref:', '') : `"${label}" ${problem}`,
      );
    }
  }
}

/** Replaces messages of the schema that are too short, or that show the value, which may be a secret. */
const REWORDED: Readonly<Record<string, string>> = {
  'string.uriCustomScheme': 'must be an address that begins with http:// or https://',
  'string.pattern.base': 'has characters that are not allowed here',
  'alternatives.types': 'has another shape than it may have',
  'alternatives.match': 'has another shape than it may have',
};

/** Ends a sentence about an unknown name with the nearest name and all accepted names. */
export function choose(word: string, candidates: readonly string[]): string {
  if (candidates.length === 0) return '';
  const near = nearest(word, candidates);
  return `${near === undefined ? '' : `; did you mean "${near}"?`}${near === undefined ? ': it may be' : ' It may be'} ${candidates.join(', ')}`;
}

/** The values that a schema names. For a reference to a sibling list, the values of the list in the file. */
function valuesOf(values: unknown, file: OperatorFile, path: FieldPath): readonly string[] {
  if (!Array.isArray(values)) return [];
  return values
    .flatMap((value: unknown) => (Joi.isRef(value) ? listBeside(file, path, value.path) : [value]))
    .filter((value) => ['string', 'number', 'boolean'].includes(typeof value))
    .map(String);
}

function listBeside(file: OperatorFile, path: FieldPath, reference: FieldPath): readonly unknown[] {
  return listOf(valueAt(file.written, [...path.slice(0, -1), ...reference]));
}

function valueAt(document: unknown, path: FieldPath): unknown {
  return path.reduce<unknown>((value, step) => {
    if (Array.isArray(value) && typeof step === 'number') return value[step];
    return isObject(value) ? value[step] : undefined;
  }, document);
}

function fieldsAt(shape: JsonObject, path: FieldPath): readonly string[] {
  return shapeAt(shape, path).flatMap(({ keys }) => (isObject(keys) ? Object.keys(keys) : []));
}

/** The descriptions of a path in a schema, one for each alternative. https://joi.dev/api/#anydescribe */
function shapeAt(shape: JsonObject, path: FieldPath): readonly JsonObject[] {
  return path.reduce<readonly JsonObject[]>(
    (shapes, step) => shapes.flatMap((one) => inside(one, step)),
    alternativesOf(shape),
  );
}

function inside({ keys, items }: JsonObject, step: string | number): readonly JsonObject[] {
  const next = typeof step === 'number' ? items : isObject(keys) ? [keys[step]] : [];
  return listOf(next).filter(isObject).flatMap(alternativesOf);
}

function alternativesOf(shape: JsonObject): readonly JsonObject[] {
  const { matches } = shape;
  if (!Array.isArray(matches)) return [shape];
  return matches.flatMap((match) =>
    isObject(match) && isObject(match['schema']) ? alternativesOf(match['schema']) : [],
  );
}
