/** Embeddings: https://platform.openai.com/docs/api-reference/embeddings. The same input always has the same vector. */
import { hash } from 'node:crypto';
import { listOf, objectOf, stringOf } from '../../domain/json.ts';
import type { Conversation, Entry } from './conversation.ts';
import { badRequest } from './failure.ts';
import { numberOf } from './fields.ts';
import type { SimulatedFormat } from './format.ts';
import { openaiCommon } from './openai.ts';
import type { Script } from './script.ts';

const MAX_INPUTS = 2_048;
const USUAL_DIMENSIONS = 1_536;
const MAX_DIMENSIONS = 4_096;

type Input = string | readonly unknown[];

interface Wish {
  readonly model: string;
  readonly inputs: readonly Input[];
  readonly dimensions: number;
  readonly isBase64: boolean;
}

export const embeddings: SimulatedFormat = {
  ...openaiCommon,
  paths: ['/v1/embeddings'],

  open(input) {
    const wish = readWish(objectOf(input));
    return {
      conversation: conversationOf(wish),
      renderWhole: (script) => renderWhole(wish, script),
      renderStream: () => {
        throw badRequest('Embeddings are not streamed.');
      },
    };
  },
};

function readWish(body: Readonly<Record<string, unknown>>): Wish {
  const model = stringOf(body['model']);
  if (model === '') throw badRequest('you must provide a model parameter');
  const { input } = body;
  const isOne = typeof input === 'string' || typeof listOf(input)[0] === 'number';
  const inputs = (isOne ? [input] : listOf(input)).map((one) => (typeof one === 'string' ? one : listOf(one)));
  if (inputs.length === 0 || inputs.length > MAX_INPUTS || inputs.some(({ length }) => length === 0)) {
    throw badRequest("'$.input' is invalid. Please check the API reference.");
  }
  const dimensions = numberOf(body['dimensions']) ?? USUAL_DIMENSIONS;
  if (dimensions < 1 || dimensions > MAX_DIMENSIONS) throw badRequest(`dimensions must be 1 to ${MAX_DIMENSIONS}`);
  return { model, inputs, dimensions, isBase64: body['encoding_format'] === 'base64' };
}

function conversationOf({ model, inputs }: Wish): Conversation {
  return {
    model,
    stream: false,
    entries: inputs.flatMap((input): Entry[] =>
      typeof input === 'string' ? [{ kind: 'text', role: 'user', text: input, mediaCount: 0 }] : [],
    ),
    tools: [],
    toolChoice: 'none',
    parallelCalls: false,
    maxOutputTokens: 0,
    stopSequences: [],
    reasoningAllowed: false,
    answerSchema: undefined,
    choiceCount: 1,
  };
}

function renderWhole({ model, inputs, dimensions, isBase64 }: Wish, { usage }: Script): object {
  const tokenIds = inputs.reduce((sum, input) => sum + (typeof input === 'string' ? 0 : input.length), 0);
  const tokens = tokenIds || usage?.input;
  return {
    object: 'list',
    data: inputs.map((input, index) => {
      const vector = vectorOf(model, input, dimensions);
      const embedding = isBase64 ? Buffer.from(vector.buffer).toString('base64') : [...vector];
      return { object: 'embedding', index, embedding };
    }),
    model,
    ...(usage !== null && { usage: { prompt_tokens: tokens, total_tokens: tokens } }),
  };
}

/** A vector of length 1 that depends only on the model and the input. */
function vectorOf(model: string, input: Input, dimensions: number): Float32Array {
  const seed = hash('sha256', JSON.stringify([model, input]), 'buffer');
  const numbers = Array.from({ length: dimensions }, (_, index) =>
    Math.sin((seed.readUInt32LE((index * 4) % seed.length) % 1_000) + index),
  );
  const length = Math.hypot(...numbers);
  return Float32Array.from(numbers, (number) => number / length);
}
