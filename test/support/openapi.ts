/** The API description, and checks of JSON against the schemas in it. */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { endpointsFor } from '../../api/endpoints.ts';
import { createOpenApiDocument, type OpenApiDocument } from '../../api/openapi/document.ts';
import type { Metrics } from '../../telemetry/metrics.ts';
import { CATALOGUE } from './catalogue.ts';

export const document: OpenApiDocument = createOpenApiDocument(endpointsFor({ canTakePayments: false }), CATALOGUE);

export interface SchemaChecks {
  /** The errors of a value, by a schema of the description or a pointer into it; empty when it matches. */
  readonly faultsOf: (schema: object | string, value: unknown) => string[];
}

/**
 * @param closed whether objects must have only described fields; clients must tolerate others, tests should not
 */
export function schemaChecks({ closed }: { readonly closed: boolean }): SchemaChecks {
  const ajv = new Ajv2020({ strict: true, strictTypes: false, strictRequired: false, allErrors: true });
  addFormats.default(ajv);
  for (const keyword of ['components', 'discriminator']) ajv.addKeyword(keyword);
  const { components } = document;
  ajv.addSchema({ $id: 'genway', components: closed ? withoutOtherFields(components) : components });
  const compiled = new Map<string, ValidateFunction>();
  return {
    faultsOf: (schema, value) => {
      const source = typeof schema === 'string' ? { $ref: schema } : closed ? withoutOtherFields(schema) : schema;
      const text = JSON.stringify(source).replaceAll('"#/', '"genway#/');
      const check = compiled.get(text) ?? ajv.compile(JSON.parse(text));
      compiled.set(text, check);
      check(value);
      return (check.errors ?? []).map(({ instancePath, message, params }) => {
        return `${instancePath} ${message} ${JSON.stringify(params)}`;
      });
    },
  };
}

function withoutOtherFields(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withoutOtherFields);
  if (typeof schema !== 'object' || schema === null) return schema;
  const inner = Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, withoutOtherFields(value)]));
  return 'properties' in inner && !('additionalProperties' in inner)
    ? { ...inner, additionalProperties: false }
    : inner;
}

/** Metrics that also collect the statuses with which operations answered although the description lacks them. */
export function collectUndescribed(metrics: Metrics): { readonly metrics: Metrics; readonly found: Set<string> } {
  const found = new Set<string>();
  const requestEnded: Metrics['requestEnded'] = (request) => {
    metrics.requestEnded(request);
    const { method, route, status } = request;
    const responses = responsesOf(method, route);
    // 499 is in metrics only: no client got it.
    if (responses !== undefined && status !== 499 && valueAt(responses, [String(status)]) === undefined)
      found.add(`${method} ${route} ${status}`);
  };
  return { metrics: { ...metrics, requestEnded }, found };
}

function responsesOf(method: string, path: string): unknown {
  return valueAt(document.paths[path]?.[method.toLowerCase()], ['responses']);
}

/** An answer, and its operation. */
export interface ActualAnswer {
  readonly method: string;
  /** The path as the description has it. */
  readonly path: string;
  readonly status: number;
  readonly headers: Headers;
  readonly body: unknown;
}

/** The parts of an answer that the description does not have; empty when it has all. */
export function undescribed(
  { method, path, status, headers, body }: ActualAnswer,
  { faultsOf }: SchemaChecks,
): string[] {
  const response = valueAt(responsesOf(method, path), [String(status)]);
  if (response === undefined) return [`${method} ${path} has no ${status}`];
  const described = resolved(response);
  const type = headers.get('content-type')?.split(';')[0] ?? 'no content';
  const schema = valueAt(described, ['content', type, 'schema']);
  const missing = Object.keys(Object(valueAt(described, ['headers'])))
    .filter((name) => name !== 'Retry-After' && name !== 'Idempotent-Replayed' && !headers.has(name))
    .map((name) => `${method} ${path} sends no ${name}`);
  if (typeof schema !== 'object' || schema === null) return [...missing, `${method} ${path} has no ${type}`];
  return [...missing, ...faultsOf(schema, body).map((fault) => `${method} ${path}, ${status}: ${fault}`)];
}

function resolved(value: unknown): unknown {
  const reference = valueAt(value, ['$ref']);
  return typeof reference === 'string' ? valueAt(document, reference.split('/').slice(1)) : value;
}

function valueAt(value: unknown, keys: readonly string[]): unknown {
  return keys.reduce(
    (inner: unknown, key) => (Object.hasOwn(Object(inner), key) ? Object(inner)[key] : undefined),
    value,
  );
}
