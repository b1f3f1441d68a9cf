/** The timeouts for answers of text upstreams, which the operator sets for a route or an upstream. */
import Joi from 'joi';

/** In milliseconds. If a timeout of a route is absent, the upstream's timeout or the default applies. */
export interface AnswerTimeouts {
  /** The time in which a streamed answer must start; keep-alives do not count. */
  readonly firstByteTimeoutMs?: number;
  /** How long an answer may be silent, before and after its first byte. */
  readonly silenceTimeoutMs?: number;
}

export interface AnswerTimeoutsEntry {
  readonly first_byte_timeout_s?: number;
  readonly silence_timeout_s?: number;
}

const seconds = Joi.number().positive().max(86_400);

export const ANSWER_TIMEOUT_FIELDS: Readonly<Record<keyof AnswerTimeoutsEntry, Joi.Schema>> = {
  first_byte_timeout_s: seconds,
  silence_timeout_s: seconds,
};

export function toAnswerTimeouts(entry: AnswerTimeoutsEntry): AnswerTimeouts {
  const { first_byte_timeout_s, silence_timeout_s } = entry;
  return {
    ...(first_byte_timeout_s !== undefined && { firstByteTimeoutMs: first_byte_timeout_s * 1000 }),
    ...(silence_timeout_s !== undefined && { silenceTimeoutMs: silence_timeout_s * 1000 }),
  };
}
