/** The prompt of a session's next response: an upper bound, which the hold covers, and an estimate of what was sent. */
import { isObject } from '../../domain/json.ts';
import type { ClientEvent } from '../../text/realtime/client-events.ts';
import { bytesOfAudio } from '../../text/realtime/long-audio.ts';
import { USUAL_BYTES_PER_SECOND } from '../../text/realtime/settings.ts';
import { maxTokenCount } from '../text/bound-input.ts';
import { MAX_UNHEARD_SECONDS } from './transcriptions.ts';

/** Vendors count a token for each 100 ms of a client's speech: https://developers.openai.com/api/docs/guides/realtime-costs */
const AUDIO_TOKENS_PER_SECOND = 10;
const MAX_AUDIO_TOKENS_PER_SECOND = 20;
const TOKENS_PER_VALUE = 4;

/** The facts that bound the tokens of an event. */
interface TokenFacts {
  readonly audioBytesPerSecond: number;
  readonly tokensPerImage: number;
}

/** Returns the most tokens that an event adds to the prompt of the session's next response. */
function maxEventTokens({ type, body, audioBytes, longAudio }: ClientEvent, facts: TokenFacts): number {
  if (type === 'input_audio_buffer.append') return audioTokens(audioBytes, facts);
  return maxTokensOf(body, facts) + audioTokens(bytesOfAudio(longAudio), facts);
}

function audioTokens(bytes: number, { audioBytesPerSecond }: TokenFacts): number {
  return (bytes * MAX_AUDIO_TOKENS_PER_SECOND) / audioBytesPerSecond;
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

/** The tokens of a prompt. */
export interface PromptTokens {
  /** No prompt has more. */
  readonly max: number;
  /** The tokens of what was sent, as vendors count them. */
  readonly estimated: number;
  /** The part of the estimate that is audio. */
  readonly estimatedAudio: number;
}

export const NO_PROMPT: PromptTokens = { max: 0, estimated: 0, estimatedAudio: 0 };

export class PromptBound {
  readonly #tokensPerImage: number;
  #max = TOKENS_PER_SESSION;
  /** The part of the bound that is beyond the estimate. */
  #surplus = TOKENS_PER_SESSION;
  #audio = 0;
  /** The audio since speech was last committed, which no prompt contains yet. */
  #heardAudio = 0;
  #audioBytesPerSecond = USUAL_BYTES_PER_SECOND;

  constructor(tokensPerImage: number) {
    this.#tokensPerImage = tokensPerImage;
  }

  /** The tokens of the prompt. They grow with each event. */
  get tokens(): PromptTokens {
    const max = Math.ceil(this.#max);
    const estimated = Math.max(max - Math.floor(this.#surplus), 0);
    return { max, estimated, estimatedAudio: Math.min(Math.round(this.#audio), estimated) };
  }

  /** Adds an event of the client. */
  add(event: ClientEvent): void {
    const pace = event.checked?.audioBytesPerSecond;
    // Audio that was sent before keeps its format, so the lowest pace bounds all.
    if (pace !== undefined) this.#audioBytesPerSecond = Math.min(this.#audioBytesPerSecond, pace);
    const facts = { audioBytesPerSecond: this.#audioBytesPerSecond, tokensPerImage: this.#tokensPerImage };
    this.#max += maxEventTokens(event, facts);
    const audio = (event.audioBytes * AUDIO_TOKENS_PER_SECOND) / this.#audioBytesPerSecond;
    this.#surplus += audioTokens(event.audioBytes, facts);
    if (event.type === 'input_audio_buffer.append') this.#heardAudio += audio;
    else this.#addAudio(audio);
    if (event.type === 'input_audio_buffer.commit') this.commit();
    if (event.type === 'input_audio_buffer.clear') this.#heardAudio = 0;
  }

  /** Forgets the silence before speech that the upstream has noticed, apart from what it may not have heard yet. */
  startSpeech(): void {
    this.#heardAudio = Math.min(this.#heardAudio, MAX_UNHEARD_SECONDS * AUDIO_TOKENS_PER_SECOND);
  }

  /** Adds the speech that the next prompt contains from now on. */
  commit(): void {
    this.#addAudio(this.#heardAudio);
    this.#heardAudio = 0;
  }

  #addAudio(tokens: number): void {
    this.#audio += tokens;
    this.#surplus = Math.max(this.#surplus - tokens, 0);
  }

  /** Adds the output of a response, which the next prompt contains. @param audio the part that is audio */
  addOutput(tokens: number, audio: number): void {
    this.#max += tokens;
    this.#audio += audio;
  }

  /**
   * Replaces the tokens by the vendor's own count of a response with the whole conversation.
   *
   * @param before the tokens when the response started
   * @param counted the vendor's count of its prompt, and the part that is audio
   */
  replace(before: PromptTokens, counted: { readonly tokens: number; readonly audio: number }): void {
    this.#max = Math.max(this.#max - before.max + Math.min(counted.tokens, before.max), 0);
    this.#surplus = Math.max(this.#surplus - (before.max - before.estimated), 0);
    this.#audio = Math.max(this.#audio - before.estimatedAudio, 0) + Math.min(counted.audio, counted.tokens);
  }
}
