/** An upper bound on the prompt of a session's next response. The hold covers it, so no response costs more than its hold. */
import { isObject } from '../../domain/json.ts';
import type { ClientEvent } from '../../text/realtime/client-events.ts';
import { USUAL_BYTES_PER_SECOND } from '../../text/realtime/settings.ts';
import { maxTokenCount } from '../text/bound-input.ts';

/** Audio in a prompt has at most so many tokens per second: vendors count one for each 100 ms of a client's speech. */
const AUDIO_TOKENS_PER_SECOND = 20;
const TOKENS_PER_VALUE = 4;

/** The facts that bound the tokens of an event. */
interface TokenFacts {
  readonly audioBytesPerSecond: number;
  readonly tokensPerImage: number;
}

/** Returns the most tokens that an event adds to the prompt of the session's next response. */
function maxEventTokens({ type, body, audioBytes }: ClientEvent, facts: TokenFacts): number {
  if (type === 'input_audio_buffer.append') return audioTokens(audioBytes, facts);
  return maxTokensOf(body, facts);
}

function audioTokens(bytes: number, { audioBytesPerSecond }: TokenFacts): number {
  return (bytes * AUDIO_TOKENS_PER_SECOND) / audioBytesPerSecond;
}

function maxTokensOf(value: unknown, facts: TokenFacts): number {
  if (typeof value === 'string') {
    return TOKENS_PER_VALUE + (value.startsWith('data:') ? facts.tokensPerImage : maxTokenCount(value));
  }
  if (Array.isArray(value))
    return value.reduce<number>((sum, item) => sum + maxTokensOf(item, facts), TOKENS_PER_VALUE);
  if (!isObject(value)) return TOKENS_PER_VALUE + maxTokenCount(String(value));
  let tokens = TOKENS_PER_VALUE;
  for (const [name, inner] of Object.entries(value)) {
    tokens += maxTokenCount(name);
    tokens +=
      name === 'audio' && typeof inner === 'string'
        ? audioTokens((inner.length * 3) / 4, facts)
        : name === 'image_url' && typeof inner === 'string'
          ? facts.tokensPerImage
          : maxTokensOf(inner, facts);
  }
  return tokens;
}

/** For separators, and for the instructions and text that vendors add. */
const TOKENS_PER_SESSION = 2_048;

export class PromptBound {
  readonly #tokensPerImage: number;
  #tokens = TOKENS_PER_SESSION;
  #audioBytesPerSecond = USUAL_BYTES_PER_SECOND;

  constructor(tokensPerImage: number) {
    this.#tokensPerImage = tokensPerImage;
  }

  /** The most tokens of the prompt. Grows with each event. */
  get tokens(): number {
    return Math.ceil(this.#tokens);
  }

  /** Adds an event of the client. */
  add(event: ClientEvent): void {
    const pace = event.checked?.audioBytesPerSecond;
    // Audio that was sent before keeps its format, so the lowest pace bounds all.
    if (pace !== undefined) this.#audioBytesPerSecond = Math.min(this.#audioBytesPerSecond, pace);
    const facts = { audioBytesPerSecond: this.#audioBytesPerSecond, tokensPerImage: this.#tokensPerImage };
    this.#tokens += maxEventTokens(event, facts);
  }

  /** Adds the output of a response, which the next prompt contains. */
  addOutput(tokens: number): void {
    this.#tokens += tokens;
  }

  /**
   * Replaces the bound by the vendor's own count of a response with the whole conversation.
   *
   * @param before the bound when the response started
   * @param counted the vendor's count of its prompt
   */
  replace(before: number, counted: number): void {
    this.#tokens = Math.max(this.#tokens - before + Math.min(counted, before), 0);
  }
}
