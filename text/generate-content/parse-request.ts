/** A native body as a canonical request: contract 4.8.4. */
import type { JsonObject } from '../../domain/json.ts';
import type { Sampling, TextRequest, Tool } from '../canonical.ts';
import { checkFields } from '../fields.ts';
import {
  compact,
  integerBetween,
  join,
  numberBetween,
  optional,
  readArray,
  readName,
  readObject,
  readStopSequences,
  readString,
} from '../read.ts';
import type { ParseContext } from '../wire-format.ts';
import { readFields } from './names.ts';
import { readContents, readSystemInstruction } from './read-contents.ts';
import { jsonSchemaOf } from './schema.ts';
import { GENERATION_FIELDS, REQUEST_FIELDS } from './types.ts';

const MAXIMUM_OUTPUT_TOKENS = 1_073_741_823;
const MAXIMUM_STOP_SEQUENCES_USED = 4;
const MAXIMUM_CANDIDATES = 8;

export function parseRequest(body: unknown, { address }: ParseContext): TextRequest {
  if (address === undefined) throw new Error('the native format has its model, and whether to stream, in the path');
  const fields = readFields(body, '');
  checkFields(fields, '', REQUEST_FIELDS, 'refuse');
  const contents = readContents(fields['contents'], 'contents');
  const system = optional(fields['systemInstruction'], 'systemInstruction', readSystemInstruction);
  return {
    model: address.model,
    stream: address.stream,
    turns: system === undefined ? contents : [system, ...contents],
    tools: optional(fields['tools'], 'tools', (value, path) => readArray(value, path, readTools).flat()) ?? [],
    sampling: optional(fields['generationConfig'], 'generationConfig', readGenerationConfig) ?? {},
  };
}

function readGenerationConfig(value: unknown, path: string): Sampling {
  const fields = readFields(value, path);
  checkFields(fields, path, GENERATION_FIELDS, 'refuse');
  const read = <T>(name: string, reader: (value: unknown, path: string) => T): T | undefined =>
    optional(fields[name], join(path, name), reader);
  return compact({
    maxOutputTokens: read('maxOutputTokens', integerBetween(1, MAXIMUM_OUTPUT_TOKENS)),
    temperature: read('temperature', numberBetween(0, 2)),
    // Zero means "not set" in both.
    topP: read('topP', numberBetween(0, 1)) || undefined,
    topK: read('topK', integerBetween(0, Number.MAX_SAFE_INTEGER)) || undefined,
    stopSequences: read('stopSequences', readStopSequences)?.slice(0, MAXIMUM_STOP_SEQUENCES_USED),
    frequencyPenalty: read('frequencyPenalty', numberBetween(-2, 2)),
    presencePenalty: read('presencePenalty', numberBetween(-2, 2)),
    choiceCount: read('candidateCount', integerBetween(1, MAXIMUM_CANDIDATES)),
  });
}

/** The functions in an item of `tools`. Its other fields are built-in tools, which have no effect. */
function readTools(value: unknown, path: string): Tool[] {
  const declarations = readFields(value, path)['functionDeclarations'];
  return (
    optional(declarations, join(path, 'functionDeclarations'), (items, itemsPath) =>
      readArray(items, itemsPath, readFunction),
    ) ?? []
  );
}

function readFunction(value: unknown, path: string): Tool {
  const fields = readFields(value, path);
  return compact({
    name: readName(fields['name'], join(path, 'name')),
    description: optional(fields['description'], join(path, 'description'), readString),
    parameters: readParameters(fields, path),
  });
}

/** SDKs send `parameters`, in JSON Schema or this format's dialect of it, or `parametersJsonSchema`. */
function readParameters(fields: JsonObject, path: string): JsonObject | undefined {
  const schema = optional(fields['parametersJsonSchema'], join(path, 'parametersJsonSchema'), readObject);
  const parameters = optional(fields['parameters'], join(path, 'parameters'), readObject);
  return schema ?? (parameters === undefined ? undefined : jsonSchemaOf(parameters));
}
