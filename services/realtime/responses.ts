/** The responses of a session: each holds the most that it can cost, and settles by the usage at its end. */
import type { TextOutcome, TextHold } from '../../db/text-money/billing.ts';
import { type ErrorCode, ServiceError, toServiceError } from '../../domain/errors.ts';
import { isObject, type JsonObject, objectOf, stringOf } from '../../domain/json.ts';
import { usageOf } from '../../domain/text-tokens.ts';
import { readUsage } from '../../text/usage.ts';
import type { PromptTokens } from './prompt-bound.ts';

/** What a response may use. */
export interface ResponseBounds {
  /** The most output tokens. */
  readonly maxOutputTokens: number;
  /** The prompt when the response was requested. The estimate is charged if the upstream reports no usage. */
  readonly prompt: PromptTokens;
  /** Whether the prompt and the answer may have audio. */
  readonly hasAudioInput: boolean;
  readonly hasAudioOutput: boolean;
}

export type ResponseHold = Pick<TextHold, 'settle' | 'release'>;

/** @throws ServiceError if the hold is refused */
export type HoldResponse = (bounds: ResponseBounds) => Promise<ResponseHold>;

interface RunningResponse {
  readonly hold: ResponseHold;
  readonly startedAtMs: number;
  readonly prompt: PromptTokens;
  /** Whether the prompt is the whole conversation. */
  readonly readsConversation: boolean;
  firstByteAtMs: number | null;
  /** Since when the speech of a call plays; null while none does. */
  playsSinceMs: number | null;
  countedOutputTokens: number;
  /** The part of the count that is audio. */
  countedAudioTokens: number;
}

/** A requested response that has not started. */
interface RequestedResponse extends Pick<RunningResponse, 'hold' | 'startedAtMs' | 'prompt' | 'readsConversation'> {
  /** The id that the client gave its event; null for none. */
  readonly clientEventId: string | null;
}

/** What a finished response tells about the conversation. */
export interface FinishedResponse {
  readonly prompt: PromptTokens;
  /** The vendor's count of the prompt; null if the prompt was not the whole conversation, or was not counted. */
  readonly countedPrompt: { readonly tokens: number; readonly audio: number } | null;
  readonly outputTokens: number;
  /** The part of the output that is audio. */
  readonly outputAudioTokens: number;
}

/** The field of a response's metadata that recognises the response that a client requested. */
const TAG = 'genway_request';
const EXPIRED = 'realtime_session_expired';
const CHARACTERS_PER_TOKEN = 4;
/** Vendors count a token for each 50 ms of speech that they generate, in PCM at 48,000 bytes a second. */
const MS_PER_AUDIO_TOKEN = 50;
const BASE64_CHARACTERS_PER_TOKEN = (48 * MS_PER_AUDIO_TOKEN * 4) / 3;

export class Responses {
  readonly #upstream: NonNullable<TextOutcome['upstream']>;
  readonly #hold: HoldResponse;
  /** By the id of the event that requested it, which Genway makes. */
  readonly #requested = new Map<string, RequestedResponse>();
  /** By the upstream's id of the response. */
  readonly #running = new Map<string, RunningResponse>();
  readonly #recorded = new Set<Promise<void>>();
  /** Pays for the next response that nobody requests from Genway, if its own hold is refused; null for none. */
  #reserve: ResponseHold | null;
  #hasEnded = false;

  constructor(upstream: NonNullable<TextOutcome['upstream']>, hold: HoldResponse, reserve: ResponseHold | null) {
    this.#upstream = upstream;
    this.#hold = hold;
    this.#reserve = reserve;
  }

  get hasReserve(): boolean {
    return this.#reserve !== null;
  }

  /** Gives a reserve for the next response, which is released at the end. */
  addReserve(reserve: ResponseHold): void {
    if (this.#hasEnded) reserve.release();
    else this.#reserve = reserve;
  }

  /** Whether a response runs, or was requested. */
  get isIdle(): boolean {
    return this.#running.size === 0 && this.#requested.size === 0;
  }

  get runningIds(): readonly string[] {
    return [...this.#running.keys()];
  }

  /**
   * Holds the money of a response that a client requests.
   *
   * @param eventId identifies the event for the upstream
   * @returns the settings with a tag by which the response is recognised
   * @throws ServiceError if the hold is refused
   */
  async request(
    eventId: string,
    clientEventId: string | null,
    settings: JsonObject,
    bounds: ResponseBounds,
  ): Promise<JsonObject> {
    const hold = await this.#holdUntilEnd(bounds);
    this.#requested.set(eventId, {
      hold,
      clientEventId,
      startedAtMs: performance.now(),
      prompt: bounds.prompt,
      readsConversation: settings['input'] === undefined && settings['conversation'] !== 'none',
    });
    return { ...settings, metadata: { ...objectOf(settings['metadata']), [TAG]: eventId } };
  }

  /** Ends a requested response that the upstream refused. @returns the request; null if the error concerns none */
  refused(eventId: unknown): { readonly clientEventId: string | null } | null {
    const requested = typeof eventId === 'string' ? this.#requested.get(eventId) : undefined;
    if (typeof eventId !== 'string' || requested === undefined) return null;
    this.#requested.delete(eventId);
    this.#settle(toRunning(requested), 'failed', null, 'bad_request');
    return requested;
  }

  /**
   * Starts a response that a client requested, or that nobody requested from Genway.
   *
   * @returns why the response got no hold of its own, so that the reserve pays for it; null if it has one
   * @throws ServiceError if its hold is refused and there is no reserve
   */
  async start(response: JsonObject, bounds: ResponseBounds): Promise<ServiceError | null> {
    const id = stringOf(response['id']);
    const tag = stringOf(objectOf(response['metadata'])[TAG]);
    const requested = this.#requested.get(tag);
    if (this.#running.has(id)) return null;
    this.#requested.delete(tag);
    if (requested !== undefined) {
      this.#running.set(id, toRunning(requested));
      return null;
    }
    const startedAtMs = performance.now();
    const { hold, refusal } = await this.#holdOrUseReserve(bounds);
    const { prompt } = bounds;
    this.#running.set(id, toRunning({ hold, startedAtMs, prompt, readsConversation: true }));
    return refusal;
  }

  async #holdOrUseReserve(
    bounds: ResponseBounds,
  ): Promise<{ readonly hold: ResponseHold; readonly refusal: ServiceError | null }> {
    try {
      return { hold: await this.#holdUntilEnd(bounds), refusal: null };
    } catch (error) {
      const hold = this.#reserve;
      if (hold === null) throw error;
      this.#reserve = null;
      return { hold, refusal: toServiceError(error) };
    }
  }

  /** Counts output, in case the upstream reports none. The speech of a call counts by the time for which it plays. */
  count({ type, response_id: id, delta }: JsonObject): void {
    const running = this.#running.get(stringOf(id));
    if (running === undefined) return;
    if (type === 'output_audio_buffer.started') running.playsSinceMs ??= performance.now();
    if (type === 'output_audio_buffer.stopped' || type === 'output_audio_buffer.cleared') countPlayed(running);
    if (typeof delta !== 'string') return;
    running.firstByteAtMs ??= performance.now();
    if (type === 'response.output_audio.delta' || type === 'response.audio.delta') {
      countAudio(running, delta.length / BASE64_CHARACTERS_PER_TOKEN);
    } else running.countedOutputTokens += delta.length / CHARACTERS_PER_TOKEN;
  }

  /** Charges a response that ended. @returns null if the response is not known */
  finish(response: JsonObject): FinishedResponse | null {
    const id = stringOf(response['id']);
    const running = this.#running.get(id);
    if (running === undefined) return null;
    this.#running.delete(id);
    const { status, usage } = response;
    const reported = isObject(usage) ? usage : null;
    if (status === 'failed') this.#settle(running, 'failed', reported, 'processing_failed');
    else this.#settle(running, status === 'cancelled' ? 'disconnected' : 'succeeded', reported);
    const { inputTotal, audioInput, outputTotal, audioOutput } = reported ? readUsage(reported) : usageOf(() => null);
    const isCounted = running.readsConversation && inputTotal !== null;
    return {
      prompt: running.prompt,
      countedPrompt: isCounted ? { tokens: inputTotal, audio: audioInput ?? 0 } : null,
      outputTokens: outputTotal ?? Math.ceil(running.countedOutputTokens),
      outputAudioTokens: audioOutput ?? Math.ceil(running.countedAudioTokens),
    };
  }

  /**
   * Ends all responses whose end the upstream did not report. The vendor may charge for the failed ones, so they count
   * as a possible loss.
   *
   * @param isBroken whether the upstream broke off, which makes its responses free; otherwise the client left
   */
  async end(isBroken: boolean): Promise<void> {
    this.#hasEnded = true;
    for (const requested of this.#requested.values()) {
      this.#settle(toRunning(requested), 'failed', null, 'processing_timeout');
    }
    for (const running of this.#running.values()) {
      if (isBroken) this.#settle(running, 'failed', null, 'processing_timeout');
      else this.#settle(running, 'disconnected', null);
    }
    this.#requested.clear();
    this.#running.clear();
    this.#reserve?.release();
    this.#reserve = null;
    await Promise.all(this.#recorded);
  }

  /** Holds money, which is released if all responses have ended meanwhile. @throws ServiceError if the hold is refused */
  async #holdUntilEnd(bounds: ResponseBounds): Promise<RunningResponse['hold']> {
    const startedAtMs = performance.now();
    const hold = await this.#hold(bounds);
    if (!this.#hasEnded) return hold;
    const { prompt } = bounds;
    this.#settle(toRunning({ hold, startedAtMs, prompt, readsConversation: true }), 'failed', null, EXPIRED);
    throw new ServiceError(EXPIRED, 'The session has ended. Open a new one.');
  }

  #settle(
    running: RunningResponse,
    status: TextOutcome['status'],
    usage: JsonObject | null,
    errorCode: ErrorCode | null = null,
  ): void {
    countPlayed(running);
    const { hold, startedAtMs, firstByteAtMs } = running;
    const consumption = {
      usage: usage && readUsage(usage),
      // What the vendor reports counts, even of a response that the client cut off.
      countedOutputTokens: usage ? 0 : Math.ceil(running.countedOutputTokens),
      countedAudioTokens: usage ? 0 : Math.ceil(running.countedAudioTokens),
    };
    const hasUsed = usage !== null || consumption.countedOutputTokens > 0;
    const recorded = hold.settle({
      status,
      errorCode,
      ...consumption,
      upstream: this.#upstream,
      latencyMs: performance.now() - startedAtMs,
      firstByteMs: firstByteAtMs === null ? null : firstByteAtMs - startedAtMs,
      failedAttempts: status === 'failed' && hasUsed ? [{ upstream: this.#upstream, ...consumption }] : [],
    });
    this.#recorded.add(recorded);
    void this.#forgetWhenRecorded(recorded);
  }

  async #forgetWhenRecorded(recorded: Promise<void>): Promise<void> {
    await recorded;
    this.#recorded.delete(recorded);
  }
}

/** Counts the speech that has played until now. */
function countPlayed(running: RunningResponse): void {
  if (running.playsSinceMs === null) return;
  countAudio(running, (performance.now() - running.playsSinceMs) / MS_PER_AUDIO_TOKEN);
  running.playsSinceMs = null;
}

function countAudio(running: RunningResponse, tokens: number): void {
  running.countedOutputTokens += tokens;
  running.countedAudioTokens += tokens;
}

/** Returns a response without the tag, for the client. */
export function withoutTag(response: JsonObject): JsonObject {
  const { metadata } = response;
  if (!isObject(metadata) || !(TAG in metadata)) return response;
  const { [TAG]: _tag, ...own } = metadata;
  return { ...response, metadata: Object.keys(own).length === 0 ? null : own };
}

function toRunning({
  hold,
  startedAtMs,
  prompt,
  readsConversation,
}: Omit<RequestedResponse, 'clientEventId'>): RunningResponse {
  const counted = { firstByteAtMs: null, playsSinceMs: null, countedOutputTokens: 0, countedAudioTokens: 0 };
  return { hold, startedAtMs, prompt, readsConversation, ...counted };
}
