/** The conversation in a native request as canonical turns. */
import type { Compatibility } from '../../domain/compatibility.ts';
import { badRequest } from '../../domain/errors.ts';
import type { JsonObject } from '../../domain/json.ts';
import type { AssistantPart, ToolResultPart, Turn } from '../canonical.ts';
import type { Fields } from '../fields.ts';
import { CallsByName } from '../calls-by-name.ts';
import { jsonTextOf } from '../json/write.ts';
import { compact, readArray } from '../read.ts';
import { mergeNeighbours } from '../turns.ts';
import { inputOf, type Part, readContent, recordOf, refuseRecord, textOf } from './request-shape.ts';
import { SKIP_SIGNATURE } from './signatures.ts';

/**
 * The turns in `contents`. Neighbouring items of one role become one turn, because streaming clients keep each piece of
 * an answer as an item of its own. Items without parts, which such clients keep of an empty answer, are skipped.
 *
 * @throws ServiceError `bad_request` when nothing is left, when a function response answers no earlier call or has records of
 *   built-in tools, or for other such records, except on models with full compatibility
 */
export function readContents(value: unknown, path: string, compatibility: Compatibility): Turn[] {
  const calls = new CallsByName();
  const turns = readArray(value, path, (item, at) => {
    const content = readContent(item, at);
    if (compatibility !== 'full') content.get('parts')?.forEach(refuseRecord);
    return turnsOf(content, calls);
  }).flat();
  if (turns.length === 0) throw badRequest(`"${path}" requires at least 1 item with a part`);
  return mergeNeighbours(turns);
}

/** The text of `systemInstruction`, as a system turn. */
export function systemTurnOf(instruction: Fields<{ parts: Part[] }>): Turn {
  const parts = instruction.get('parts').flatMap((part) => {
    if (part.kind !== 'text') throw badRequest(`"${part.fields.path}" must be a text part`);
    return textOf(part);
  });
  return { role: 'system', parts };
}

function turnsOf(content: ReturnType<typeof readContent>, calls: CallsByName): Turn[] {
  const role = content.get('role') ?? 'user';
  const parts = content.get('parts') ?? [];
  if (role === 'model') {
    const answer = parts.flatMap((part) => answerOf(part, calls));
    return answer.length === 0 ? [] : [{ role: 'assistant', parts: answer }];
  }
  const results = parts.filter((part) => part.kind === 'functionResponse');
  const input = parts.filter((part) => part.kind !== 'functionResponse').flatMap(inputOf);
  return [
    ...(results.length === 0 ? [] : [{ role: 'tool', parts: results.map((part) => resultOf(part, calls)) } as const]),
    ...(input.length === 0 ? [] : [{ role: 'user', parts: input } as const]),
  ];
}

function answerOf(part: Part, calls: CallsByName): AssistantPart[] {
  const { kind, fields } = part;
  const given = fields.get('thoughtSignature');
  const signature = given === '' || given === SKIP_SIGNATURE ? undefined : given;
  if (kind === 'text') {
    const isThought = fields.get('thought') ?? false;
    const text = textOf(part);
    return isThought ? text.map((thought) => compact({ ...thought, type: 'reasoning', signature })) : text;
  }
  const record = recordOf(part);
  if (record !== null) return record;
  const media = fields.get('inlineData') ?? fields.get('fileData');
  if (media?.type === 'image') return [media];
  if (media?.source.kind === 'base64' && media.source.mediaType.startsWith('audio/')) {
    return [{ type: 'audio', data: media.source.data, mediaType: media.source.mediaType }];
  }
  const call = kind === 'functionCall' ? fields.get('functionCall') : undefined;
  if (call === undefined) throw badRequest(`"${fields.at(kind)}" must be in an item with the role user`);
  const name = call.get('name');
  const callId = calls.add(call.get('id'), name);
  return [compact({ type: 'tool-call', callId, name, arguments: jsonTextOf(call.get('args') ?? {}), signature })];
}

function resultOf({ fields }: Part, calls: CallsByName): ToolResultPart {
  const result = fields.get('functionResponse');
  if (result === undefined) throw new Error('only parts with a response are results');
  const name = result.get('name');
  const callId = calls.answer(result.get('id'), name);
  if (callId === null) throw badRequest(`"${result.path}" must answer a functionCall of "${name}" before it`);
  const response = result.get('response') ?? {};
  return compact({
    type: 'tool-result',
    callId,
    name,
    content: [{ type: 'text', text: textOfResponse(response) } as const, ...(result.get('parts') ?? []).flat()],
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
