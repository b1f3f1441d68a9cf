/** How long text upstreams may keep a request waiting, as the operator writes it for a route or an upstream. */
import Joi from 'joi';

/** In milliseconds. An absent one is decided elsewhere: by the upstream, or by default. */
export interface AnswerTimeouts {
  /** How long a streamed answer may take to start; keep-alives do not count. */
  readonly firstByteTimeoutMs?: number;
  /** How long a whole answer may be silent, before its first byte and after. */
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
