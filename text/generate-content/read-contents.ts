/** The conversation in a native request as canonical turns. */
import { badRequest } from '../../domain/errors.ts';
import type { JsonObject } from '../../domain/json.ts';
import type { AnswerPart, InputPart, TextPart, ToolResultPart, Turn } from '../canonical.ts';
import { checkFields } from '../fields.ts';
import {
  compact,
  join,
  oneOf,
  optional,
  readArray,
  readBoolean,
  readId,
  readName,
  readObject,
  readString,
} from '../read.ts';
import { NamedCalls } from '../named-calls.ts';
import { mergeNeighbours } from '../turns.ts';
import { readFileData, readInlineData } from './media.ts';
import { readFields } from './names.ts';
import { SKIP_SIGNATURE } from './thought-signatures.ts';
import { PART_FIELDS, PART_KINDS } from './types.ts';

type PartKind = (typeof PART_KINDS)[number];

/**
 * The turns in `contents`. Neighbouring items of one role become one turn, because streaming clients keep each piece of
 * an answer as an item of its own. Items without parts, which such clients keep of an empty answer, are skipped.
 *
 * @throws ServiceError `bad_request` when nothing is left, or when a function response answers no earlier call
 */
export function readContents(value: unknown, path: string): Turn[] {
  const calls = new NamedCalls();
  const turns = readArray(value, path, (item, itemPath) => readContent(item, itemPath, calls)).flat();
  if (turns.length === 0) throw badRequest(`"${path}" requires at least 1 item with a part`);
  return mergeNeighbours(turns);
}

/** The text of `systemInstruction`, as a system turn. */
export function readSystemInstruction(value: unknown, path: string): Turn {
  const parts = readArray(readFields(value, path)['parts'], join(path, 'parts'), (item, partPath) => {
    const part = readPart(item, partPath);
    if (part.kind !== 'text') throw badRequest(`"${partPath}" must be a text part`);
    return readText(part.fields['text'], join(partPath, 'text'));
  });
  return { role: 'system', parts: parts.flat() };
}

function readContent(value: unknown, path: string, calls: NamedCalls): Turn[] {
  const content = readFields(value, path);
  const role = optional(content['role'], join(path, 'role'), oneOf(['user', 'model'])) ?? 'user';
  const parts = optional(content['parts'], join(path, 'parts'), (items, itemsPath) =>
    readArray(items, itemsPath, readPart),
  );
  if (role === 'model') {
    const answer = (parts ?? []).flatMap((part) => readAnswerPart(part, calls));
    return answer.length === 0 ? [] : [{ role: 'assistant', parts: answer }];
  }
  const results = (parts ?? []).filter((part) => part.kind === 'functionResponse');
  const input = (parts ?? []).filter((part) => part.kind !== 'functionResponse').flatMap(readInputPart);
  return [
    ...(results.length === 0 ? [] : [{ role: 'tool', parts: results.map((part) => readResult(part, calls)) } as const]),
    ...(input.length === 0 ? [] : [{ role: 'user', parts: input } as const]),
  ];
}

interface PartOnWire {
  readonly kind: PartKind;
  readonly fields: JsonObject;
  readonly path: string;
}

function readPart(value: unknown, path: string): PartOnWire {
  const fields = readFields(value, path);
  checkFields(fields, path, PART_FIELDS, 'refuse');
  const kinds = PART_KINDS.filter((kind) => fields[kind] !== undefined && fields[kind] !== null);
  const [kind] = kinds;
  if (kind === undefined || kinds.length > 1) {
    throw badRequest(`"${path}" must have exactly one of: [${PART_KINDS.join(' ')}]`);
  }
  return { kind, fields, path };
}

function readInputPart({ kind, fields, path }: PartOnWire): InputPart[] {
  const valuePath = join(path, kind);
  if (kind === 'text') return readText(fields['text'], valuePath);
  if (kind === 'inlineData') return [readInlineData(fields['inlineData'], valuePath)];
  if (kind === 'fileData') return [readFileData(fields['fileData'], valuePath)];
  throw badRequest(`"${valuePath}" must be in an item with the role model`);
}

/** An empty text yields no part. */
function readText(value: unknown, path: string): TextPart[] {
  const text = readString(value, path);
  return text === '' ? [] : [{ type: 'text', text }];
}

function readAnswerPart({ kind, fields, path }: PartOnWire, calls: NamedCalls): AnswerPart[] {
  const valuePath = join(path, kind);
  const said = optional(fields['thoughtSignature'], join(path, 'thoughtSignature'), readString);
  const signature = said === '' || said === SKIP_SIGNATURE ? undefined : said;
  if (kind === 'text') {
    const isThought = optional(fields['thought'], join(path, 'thought'), readBoolean) ?? false;
    const text = readText(fields['text'], valuePath);
    return isThought ? text.map((part) => compact({ ...part, type: 'reasoning', signature })) : text;
  }
  if (kind !== 'functionCall') throw badRequest(`"${valuePath}" must be in an item with the role user`);
  const call = readFields(fields['functionCall'], valuePath);
  const name = readName(call['name'], join(valuePath, 'name'));
  const callId = calls.add(optional(call['id'], join(valuePath, 'id'), readId), name);
  const args = optional(call['args'], join(valuePath, 'args'), readObject) ?? {};
  return [compact({ type: 'tool-call', callId, name, arguments: JSON.stringify(args), signature })];
}

function readResult({ fields, path }: PartOnWire, calls: NamedCalls): ToolResultPart {
  const resultPath = join(path, 'functionResponse');
  const result = readFields(fields['functionResponse'], resultPath);
  const name = readName(result['name'], join(resultPath, 'name'));
  const callId = calls.answer(optional(result['id'], join(resultPath, 'id'), readId), name);
  if (callId === null) throw badRequest(`"${resultPath}" must answer a functionCall of "${name}" before it`);
  const response = optional(result['response'], join(resultPath, 'response'), readObject) ?? {};
  const attachments = optional(result['parts'], join(resultPath, 'parts'), (items, itemsPath) =>
    readArray(items, itemsPath, (item, itemPath) => readInputPart(readPart(item, itemPath))),
  );
  return compact({
    type: 'tool-result',
    callId,
    name,
    content: [{ type: 'text', text: textOfResponse(response) } as const, ...(attachments ?? []).flat()],
    isError: 'error' in response ? true : undefined,
  });
}

/** This format's own names for the result are `output` and `error`; if there is more, all of it is the result. */
function textOfResponse(response: JsonObject): string {
  const [[name, value] = ['', undefined], ...others] = Object.entries(response);
  const isWhole = others.length === 0 && (name === 'output' || name === 'error');
  const result = isWhole ? value : response;
  return typeof result === 'string' ? result : JSON.stringify(result);
}
