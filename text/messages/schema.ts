/**
 * Schemas for answers as upstreams of this format accept them: objects must be closed, and values have no limits
 * (https://platform.claude.com/docs/en/build-with-claude/structured-outputs). The text tells models the limits instead, as
 * the vendor's SDKs do.
 */
import type { JsonObject } from '../../domain/json.ts';
import {
  type Complexity,
  complexityOf,
  holdsForAll,
  inWords,
  isOfObject,
  isWithin,
  type SchemaLimits,
} from '../fit-schemas.ts';
import { mapSubschemas, subschemasOf } from '../json-schema.ts';
import { compact } from '../read.ts';

const LIMITS: ReadonlySet<string> = new Set([
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
  'minLength',
  'maxLength',
  'minItems',
  'maxItems',
  'uniqueItems',
  'minProperties',
  'maxProperties',
]);

/** Vendors accept the two smallest limits of this keyword. */
function isRefused([keyword, limit]: readonly [string, unknown]): boolean {
  return LIMITS.has(keyword) && !(keyword === 'minItems' && (limit === 0 || limit === 1));
}

function isMap({ additionalProperties, patternProperties }: JsonObject): boolean {
  return (additionalProperties !== undefined && additionalProperties !== false) || patternProperties !== undefined;
}

/** https://github.com/camel-ai/camel/pull/4171 */
export const MAX_COMPILED: Complexity = { tools: 20, optionalProperties: 24, unions: 16 };

/** https://platform.claude.com/docs/en/build-with-claude/structured-outputs#json-schema-limitations */
export const SCHEMA_LIMITS: SchemaLimits = {
  notAtTop: ['oneOf', 'anyOf', 'allOf'],
  needsProperties: false,
  isStrict: (schema) => holdsForAll(schema, (inner) => !isMap(inner)),
  maxCompiled: MAX_COMPILED,
  isForAnswer: (schema) =>
    holdsForAll(schema, (inner) => !isMap(inner)) && isWithin(complexityOf(schema), MAX_COMPILED),
  notInAnswer: refusedKeywords,
};

function refusedKeywords(schema: JsonObject): string[] {
  const own = Object.entries(schema).filter(isRefused);
  return [...own.map(([keyword]) => keyword), ...subschemasOf(schema).flatMap(refusedKeywords)];
}

/** The schema with closed objects, and with its limits in the descriptions. */
export function answerSchemaOf(schema: JsonObject): JsonObject {
  const fields = Object.entries(mapSubschemas(schema, answerSchemaOf));
  const limits = fields.filter(isRefused);
  const kept = Object.fromEntries(fields.filter((field) => !isRefused(field)));
  return compact({
    ...kept,
    ...(limits.length > 0 && { description: inWords(kept['description'], Object.fromEntries(limits)) }),
    additionalProperties: isOfObject(kept) ? (kept['additionalProperties'] ?? false) : undefined,
  });
}
