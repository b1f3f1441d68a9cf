/** Objects and errors of the text formats: contract 4.8 and 7.1. */
import type { Catalogue } from '../../catalogue/types.ts';
import type { ErrorCode } from '../../domain/errors.ts';
import { type JsonSchema, ref } from '../../domain/json-schema.ts';
import type { RequestFormatName } from '../../domain/wire-format-name.ts';
import type { RefusalStatus } from '../endpoint/answers.ts';
import { REFUSALS } from './operation.ts';
import { EXAMPLE_REQUEST_ID, exampleError, refusalOf } from './shared.ts';
import { TEXT_ANSWER_SCHEMAS } from './text-answers.ts';
import { textRequestSchemas } from './text-requests.ts';

export function textSchemas(catalogue: Catalogue): Readonly<Record<string, JsonSchema>> {
  return { ...textRequestSchemas(catalogue), ...TEXT_ANSWER_SCHEMAS };
}

/** Errors before the call of the model have the common envelope; later ones, the envelope of the format. */
const STATUSES_IN_BOTH: readonly RefusalStatus[] = [429, 500, 503];

interface FormatEnvelope {
  readonly schema: string;
  readonly exampleOf: (code: ErrorCode, message: string) => unknown;
}

const withRequestId = (message: string): string => `${message} (request id: ${EXAMPLE_REQUEST_ID})`;

const ENVELOPES: readonly FormatEnvelope[] = [
  {
    schema: 'SvcError',
    exampleOf: (code, message) => ({ error: { message: withRequestId(message), type: 'svc_error', code } }),
  },
  {
    schema: 'MessagesError',
    exampleOf: (type, message) => ({ type: 'error', error: { type, message: withRequestId(message) } }),
  },
];

function responseName(schema: string, status: RefusalStatus): string {
  return `${schema}.${REFUSALS[status]}`;
}

/** Refusals that have, or may have, the envelope of a format: contract 7.1. */
export const TEXT_RESPONSES: Readonly<Record<string, JsonSchema>> = Object.fromEntries(
  ENVELOPES.flatMap(({ schema, exampleOf }) => [
    [responseName(schema, 400), refusalOf(400, ref(schema), exampleOf)],
    ...STATUSES_IN_BOTH.map((status) => [
      responseName(schema, status),
      refusalOf(status, { anyOf: [ref('CommonError'), ref(schema)] }, exampleError),
    ]),
  ]),
);

/** Refusals of a format that have, or may have, its own envelope, by status. */
export function refusalsIn(format: RequestFormatName): Partial<Record<RefusalStatus, string>> {
  const schema = format === 'messages' ? 'MessagesError' : 'SvcError';
  return Object.fromEntries(
    [400 as const, ...STATUSES_IN_BOTH].map((status) => [status, responseName(schema, status)]),
  );
}
