/** The fields of a request for embeddings: contract 4.8.5. */
import { badRequest } from '../../domain/errors.ts';
import { EMBEDDINGS } from '../../domain/policy.ts';
import { fields, forwarded, forwardedAs } from '../fields.ts';
import {
  described,
  integerBetween,
  isSet,
  join,
  oneOf,
  optional,
  readArray,
  reader,
  readName,
  readString,
  readText,
} from '../read.ts';

export interface EmbeddingsInput {
  readonly texts: readonly string[];
  readonly inputCount: number;
  readonly tokenIdCount: number;
}

const TOKEN_ID = integerBetween(0, 2 ** 32 - 1);
const TOKEN_IDS = { type: 'array', items: TOKEN_ID.schema, minItems: 1 };
const MANY = { type: 'array', minItems: 1, maxItems: EMBEDDINGS.maxInputs };

const INPUT_SCHEMA = {
  oneOf: [readText.schema, { ...MANY, items: readText.schema }, TOKEN_IDS, { ...MANY, items: TOKEN_IDS }],
};

const readInput = reader(INPUT_SCHEMA, (value, path): EmbeddingsInput => {
  if (!isSet(value)) throw badRequest(`"${path}" is required`);
  if (typeof value === 'string') return { texts: [readText(value, path)], inputCount: 1, tokenIdCount: 0 };
  if (!Array.isArray(value)) throw badRequest(`"${path}" must be a string or an array`);
  if (typeof value[0] === 'number') return { texts: [], inputCount: 1, tokenIdCount: countTokenIds(value, path) };
  const inputCount = requireSome(value, path).length;
  if (inputCount > EMBEDDINGS.maxInputs) {
    throw badRequest(`"${path}" accepts at most ${EMBEDDINGS.maxInputs} items`);
  }
  if (!Array.isArray(value[0])) return { texts: readArray(value, path, readText), inputCount, tokenIdCount: 0 };
  const counts = readArray(value, path, countTokenIds);
  return { texts: [], inputCount, tokenIdCount: counts.reduce((sum, count) => sum + count, 0) };
});

/** Ids may be a hundred thousand, so only the path of one that is wrong is written. */
function countTokenIds(value: unknown, path: string): number {
  const ids = requireSome(value, path);
  for (let index = 0; index < ids.length; index += 1) {
    const id = ids[index];
    const isFine = typeof id === 'number' && Number.isInteger(id) && id >= 0 && id < 2 ** 32;
    if (!isFine) TOKEN_ID(id, join(path, index));
  }
  return ids.length;
}

function requireSome(value: unknown, path: string): readonly unknown[] {
  if (!Array.isArray(value)) throw badRequest(`"${path}" must be an array of token ids`);
  if (value.length === 0) throw badRequest(`"${path}" requires at least 1 item`);
  return value;
}

export const readRequest = fields(
  {
    model: readName,
    input: described(readInput, 'A text, several texts, or the token ids of one or several texts'),
    encoding_format: optional(oneOf(['float', 'base64'])),
    dimensions: optional(
      described(integerBetween(1, EMBEDDINGS.maxDimensions), 'The length of the vectors, if the model has several'),
    ),
    user: optional(described(readString, 'Identifies the end user')),
    // Not standard, but required by some compatible services.
    input_type: forwardedAs('string'),
    truncate: forwarded,
  },
  { unknown: 'refuse' },
);
