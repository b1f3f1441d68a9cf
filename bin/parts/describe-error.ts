/** Explains an error to the person who ran the command or started the process. */
import { inspect } from 'node:util';
import { DatabaseError } from 'pg';
import { isUnavailable } from '../../db/connections.ts';
import { ServiceError } from '../../domain/errors.ts';
import { OperatorError } from '../../domain/operator-error.ts';

/** @returns sentences if the cause is outside Genway; the stack if it is a bug */
export function describeError(error: unknown): string {
  if (error instanceof OperatorError || error instanceof ServiceError) return error.message;
  if (error instanceof DatabaseError) return `PostgreSQL refused (${error.message}). Check DATABASE_URL.`;
  if (isUnavailable(error)) return `PostgreSQL does not answer (${reasonOf(error)}). Check DATABASE_URL.`;
  if (isOutside(error)) return reasonOf(error);
  return `This is a bug in Genway:\n${inspect(error)}`;
}

/** Whether the error comes from the operating system: https://nodejs.org/api/errors.html#nodejs-error-codes */
function isOutside(error: unknown): boolean {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' && !error.code.startsWith('ERR_');
}

function reasonOf(error: unknown): string {
  // Node collects one error for each address of a host name.
  if (error instanceof AggregateError && error.errors.length > 0) return error.errors.map(reasonOf).join('; ');
  return error instanceof Error ? error.message : String(error);
}
