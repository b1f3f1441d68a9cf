/** The responses of a session: each holds the most that it can cost, and settles by the usage at its end. */
import type { TextOutcome, TextHold } from '../../db/text-money/billing.ts';
import type { ErrorCode } from '../../domain/errors.ts';
import { isObject, type JsonObject } from '../../domain/json.ts';
import { readUsage } from '../../text/usage.ts';
import { objectOf, stringOf } from '../../text/upstream-errors.ts';

/** What a response may use. */
export interface ResponseBounds {
  /** The most output tokens. */
  readonly maxOutputTokens: number;
  /** The prompt's bound when the response was requested. */
  readonly promptTokens: number;
  /** Whether the prompt and the answer may have audio. */
  readonly hasAudioInput: boolean;
  readonly hasAudioOutput: boolean;
}

/** @throws ServiceError if the hold is refused */
export type HoldResponse = (bounds: ResponseBounds) => Promise<TextHold>;

interface RunningResponse {
  readonly hold: TextHold;
  readonly startedAtMs: number;
  readonly promptTokens: number;
  /** Whether the prompt is the whole conversation. */
  readonly readsConversation: boolean;
  firstByteAtMs: number | null;
  countedOutputTokens: number;
}

/** A requested response that has not started. */
interface RequestedResponse extends Pick<
  RunningResponse,
  'hold' | 'startedAtMs' | 'promptTokens' | 'readsConversation'
> {
  /** The id that the client gave its event; null for none. */
  readonly clientEventId: string | null;
}

/** What a finished response tells about the conversation. */
export interface FinishedResponse {
  readonly promptTokens: number;
  /** The vendor's count of the prompt; null if the prompt was not the whole conversation, or was not counted. */
  readonly countedPrompt: number | null;
  readonly outputTokens: number;
}

/** The field of a response's metadata that recognises the response that a client requested. */
const TAG = 'genway_request';
const CHARACTERS_PER_TOKEN = 4;
/** Vendors count a token for each 50 ms of speech that they generate, in PCM at 48,000 bytes a second. */
const BASE64_CHARACTERS_PER_TOKEN = (48_000 * 0.05 * 4) / 3;

export class Responses {
  readonly #upstream: TextOutcome['upstream'];
  readonly #hold: HoldResponse;
  /** By the id of the event that requested it, which Genway makes. */
  readonly #requested = new Map<string, RequestedResponse>();
  /** By the upstream's id of the response. */
  readonly #running = new Map<string, RunningResponse>();
  readonly #recorded = new Set<Promise<void>>();

  constructor(upstream: TextOutcome['upstream'], hold: HoldResponse) {
    this.#upstream = upstream;
    this.#hold = hold;
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
    const hold = await this.#hold(bounds);
    this.#requested.set(eventId, {
      hold,
      clientEventId,
      startedAtMs: performance.now(),
      promptTokens: bounds.promptTokens,
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
   * Starts a response that a client requested, or that voice activity caused.
   *
   * @throws ServiceError if the hold of a response without a request is refused
   */
  async start(response: JsonObject, bounds: ResponseBounds): Promise<void> {
    const id = stringOf(response['id']);
    const tag = stringOf(objectOf(response['metadata'])[TAG]);
    const requested = this.#requested.get(tag);
    if (this.#running.has(id)) return;
    const startedAtMs = performance.now();
    const { promptTokens } = bounds;
    this.#requested.delete(tag);
    const started = requested ?? { hold: await this.#hold(bounds), startedAtMs, promptTokens, readsConversation: true };
    this.#running.set(id, toRunning(started));
  }

  /** Counts output, in case the upstream reports none. */
  count({ type, response_id: id, delta }: JsonObject): void {
    const running = this.#running.get(stringOf(id));
    if (running === undefined || typeof delta !== 'string') return;
    running.firstByteAtMs ??= performance.now();
    const isAudio = type === 'response.output_audio.delta' || type === 'response.audio.delta';
    running.countedOutputTokens += delta.length / (isAudio ? BASE64_CHARACTERS_PER_TOKEN : CHARACTERS_PER_TOKEN);
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
    const { inputTotal, outputTotal } = reported ? readUsage(reported) : { inputTotal: null, outputTotal: null };
    return {
      promptTokens: running.promptTokens,
      countedPrompt: running.readsConversation ? inputTotal : null,
      outputTokens: outputTotal ?? Math.ceil(running.countedOutputTokens),
    };
  }

  /** Ends all responses. @param code why they failed; null if the client left */
  async end(code: ErrorCode | null): Promise<void> {
    for (const requested of this.#requested.values())
      this.#settle(toRunning(requested), 'failed', null, code ?? 'processing_failed');
    for (const running of this.#running.values()) {
      if (code === null) this.#settle(running, 'disconnected', null);
      else this.#settle(running, 'failed', null, code);
    }
    this.#requested.clear();
    this.#running.clear();
    await Promise.all(this.#recorded);
  }

  #settle(
    running: RunningResponse,
    status: TextOutcome['status'],
    usage: JsonObject | null,
    errorCode: ErrorCode | null = null,
  ): void {
    const { hold, startedAtMs, firstByteAtMs, countedOutputTokens } = running;
    const recorded = hold.settle({
      status,
      errorCode,
      usage: usage && readUsage(usage),
      // What the vendor reports counts, even of a response that the client cut off.
      countedOutputTokens: usage ? 0 : Math.ceil(countedOutputTokens),
      upstream: this.#upstream,
      latencyMs: performance.now() - startedAtMs,
      firstByteMs: firstByteAtMs === null ? null : firstByteAtMs - startedAtMs,
      failedAttempts: [],
    });
    this.#recorded.add(recorded);
    void this.#forgetWhenRecorded(recorded);
  }

  async #forgetWhenRecorded(recorded: Promise<void>): Promise<void> {
    await recorded;
    this.#recorded.delete(recorded);
  }
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
  promptTokens,
  readsConversation,
}: Omit<RequestedResponse, 'clientEventId'>): RunningResponse {
  return { hold, startedAtMs, promptTokens, readsConversation, firstByteAtMs: null, countedOutputTokens: 0 };
}
