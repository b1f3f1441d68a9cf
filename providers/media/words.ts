/** What clients read of an upstream's verdicts. */
import type { TaskErrorCode } from '../../domain/errors.ts';

const MAX_WORDS_LENGTH = 500;

/** The codes whose cause only the upstream knows, and which a client can act on: its own words are passed on. */
const CODES_WITH_WORDS: readonly TaskErrorCode[] = ['bad_request', 'content_policy_violation'];

/** What clients read instead of, or for want of, the upstream's words. */
const MESSAGES: Readonly<Record<TaskErrorCode, string>> = {
  bad_request:
    'The model could not use this request. Check the prompt, the options and that every link is public and of a supported format.',
  content_policy_violation:
    'The prompt, an input or the result was refused by moderation. Change the prompt or the inputs.',
  processing_unavailable:
    'The model is temporarily unavailable or out of capacity. Try again later or use another model.',
  processing_timeout: 'The model did not finish in time. Try again later.',
  processing_failed: 'The model could not finish this task. Try again later.',
  result_transfer_failed: 'The result was generated but could not be fetched. Try again later.',
};

/** @param words the upstream's, if the adapter knows that they name nothing of the operator's */
export function messageFor(code: TaskErrorCode, words?: unknown): string {
  return (CODES_WITH_WORDS.includes(code) ? wordsOf(words) : null) ?? MESSAGES[code];
}

/** Another party's words, fit to be shown: on one line, of bounded length, without characters that steer a display. */
export function wordsOf(value: unknown): string | null {
  if (typeof value !== 'string') return null;
  const clean = value
    .slice(0, MAX_WORDS_LENGTH)
    .replace(/[\p{C}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .trim();
  return clean === '' ? null : clean;
}
