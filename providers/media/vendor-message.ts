/** Messages for clients about upstreams' verdicts. */
import { cutText } from '../../domain/cut-text.ts';
import type { TaskErrorCode } from '../../domain/errors.ts';

const MAX_MESSAGE_LENGTH = 500;

/**
 * The remedy for the client, for the codes whose cause only the upstream knows. Clients get the upstream's own message
 * and the remedy, which that message may lack.
 */
const REMEDIES = {
  bad_request: 'Check the prompt, the options and that every link is public and of a supported format.',
  content_policy_violation: 'Change the prompt or the inputs.',
} as const;

/** Messages for clients if the upstream's message is missing or not passed on. */
const MESSAGES: Readonly<Record<TaskErrorCode, string>> = {
  bad_request: `The model could not use this request. ${REMEDIES.bad_request}`,
  content_policy_violation: `The prompt, an input or the result was refused by moderation. ${REMEDIES.content_policy_violation}`,
  processing_unavailable:
    'The model is temporarily unavailable or out of capacity. Try again later or use another model.',
  processing_timeout: 'The model did not finish in time. Try again later.',
  processing_failed: 'The model could not finish this task. Try again later.',
  result_transfer_failed: 'The result was generated but could not be fetched. Try again later.',
};

/** @param vendorMessage the upstream's message, if the adapter knows that it reveals nothing about the operator */
export function messageFor(code: TaskErrorCode, vendorMessage?: unknown): string {
  if (code !== 'bad_request' && code !== 'content_policy_violation') return MESSAGES[code];
  const remedy = REMEDIES[code];
  const whole = cleanVendorMessage(vendorMessage);
  if (whole === null) return MESSAGES[code];
  const cause = cutText(whole, MAX_MESSAGE_LENGTH - remedy.length - 2);
  return `${/[.!?…。！？]$/u.test(cause) ? cause : `${cause}.`} ${remedy}`;
}

/** The upstream's message for operators; null if there is none, or if the client's message has it. */
export function detailFor(vendorMessage: unknown, clientMessage: string): string | null {
  const detail = cleanVendorMessage(vendorMessage);
  return detail === null || clientMessage.includes(detail) ? null : detail;
}

interface Verdict {
  readonly code: TaskErrorCode;
  /** The client's message, which may contain the upstream's. */
  readonly message: string;
  /** The result of {@link detailFor}. */
  readonly detail?: string | null;
}

/** The upstream's own message about a verdict, for operators; null if there was none. */
export function vendorMessageOf({ code, message, detail = null }: Verdict): string | null {
  if (detail !== null) return detail;
  if (message === MESSAGES[code]) return null;
  const remedy = code === 'bad_request' || code === 'content_policy_violation' ? ` ${REMEDIES[code]}` : '';
  return remedy !== '' && message.endsWith(remedy) ? message.slice(0, -remedy.length) : message;
}

/** Cleans up another party's message: one line, of limited length, without control characters. */
export function cleanVendorMessage(value: unknown): string | null {
  if (typeof value !== 'string') return null;
  const clean = value
    .slice(0, MAX_MESSAGE_LENGTH)
    .replace(/[\p{C}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .trim();
  return clean === '' ? null : clean;
}
