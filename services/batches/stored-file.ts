import { daysAfter } from '../../domain/day.ts';
import { randomLetters } from '../../domain/ids.ts';
import { BATCHES } from '../../domain/policy.ts';
import { PRIVATE_PREFIX } from '../../storage/keys.ts';

/** The type of the input and the output of batches. */
export const JSON_LINES = { extension: 'jsonl', mimeType: 'application/jsonl', maxBytes: BATCHES.maxBytes };

const SECRET_LENGTH = 32;

/** A new key of a private file. Nobody can derive the key from the id, because the links of a public store contain keys. */
export function privateKeyOf(id: string): string {
  return `${PRIVATE_PREFIX}${id}-${randomLetters(SECRET_LENGTH)}.${JSON_LINES.extension}`;
}

export function batchFileExpiry(createdAt: Date): Date {
  return daysAfter(createdAt, BATCHES.fileDays);
}
