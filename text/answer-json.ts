/** JSON from upstreams. Unreadable JSON counts as the upstream's failure. */
import { isObject, type JsonObject } from '../domain/json.ts';
import { LARGE_JSON_BYTES, parseInSteps, parseJsonText } from './json/parse.ts';
import { runInSteps, type Steps } from './json/steps.ts';
import type { ServerSentEvent } from './sse.ts';
import { AnswerTooLongError, malformedAnswer, UnreadableEventError } from './upstream-errors.ts';

/** Far more than the probabilities of every token of a long answer need. */
const LIMITS = { maxDepth: 512, maxValues: 1_000_000 };

/** Parses a whole answer. @throws ServiceError `processing_failed` if it is not JSON, or exceeds the limits */
export async function parseAnswer(bytes: Uint8Array): Promise<unknown> {
  return bytes.byteLength < LARGE_JSON_BYTES ? parseText(decoder.decode(bytes)) : runInSteps(parseAnswerInSteps(bytes));
}

const decoder = new TextDecoder();

/** {@link parseAnswer} in steps. */
export function* parseAnswerInSteps(bytes: Uint8Array): Steps<unknown> {
  try {
    return yield* parseInSteps(bytes, LIMITS);
  } catch (error) {
    throw error instanceof RangeError ? new AnswerTooLongError() : malformedAnswer(error);
  }
}

/** The object in an event. @throws UnreadableEventError if there is none */
export function parseEventData({ data, json }: ServerSentEvent): JsonObject {
  let value = json;
  try {
    value ??= parseJsonText(data);
  } catch (error) {
    throw new UnreadableEventError(error);
  }
  if (!isObject(value)) throw new UnreadableEventError();
  return value;
}

function parseText(text: string): unknown {
  try {
    return parseJsonText(text);
  } catch (error) {
    throw malformedAnswer(error);
  }
}
