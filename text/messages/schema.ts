/**
 * Schemas for answers as upstreams of this format accept them: objects must be closed, and values have no limits
 * (https://platform.claude.com/docs/en/build-with-claude/structured-outputs). Models are told limits in words instead, as
 * the vendor's SDKs do.
 */
import type { JsonObject } from '../../domain/json.ts';
import { mapSubschemas } from '../json-schema.ts';
import { compact } from '../read.ts';

const LIMITS: ReadonlySet<string> = new Set([
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
  'minLength',
  'maxLength',
  'maxItems',
  'uniqueItems',
]);

/** The schema with closed objects, and with its limits in the descriptions. */
export function answerSchemaOf(schema: JsonObject): JsonObject {
  const fields = Object.entries(mapSubschemas(schema, answerSchemaOf));
  const limits = fields.filter(([keyword]) => LIMITS.has(keyword));
  const kept = Object.fromEntries(fields.filter(([keyword]) => !LIMITS.has(keyword)));
  const words = [kept['description'], ...(limits.length === 0 ? [] : [JSON.stringify(Object.fromEntries(limits))])];
  const description = words.filter((word) => typeof word === 'string').join('\n\n');
  const isObject = kept['type'] === 'object' || kept['properties'] !== undefined;
  return compact({
    ...kept,
    description: description === '' ? undefined : description,
    additionalProperties: isObject ? (kept['additionalProperties'] ?? false) : undefined,
  });
}
