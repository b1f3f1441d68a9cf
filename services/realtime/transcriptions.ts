/** The transcriptions of a client's speech: each holds the most that it can cost, and settles by the usage at its end. */
import type { TextHold, TextOutcome } from '../../db/text-money/billing.ts';
import { isObject, type JsonObject, stringOf } from '../../domain/json.ts';
import { readUsage } from '../../text/usage.ts';
import { reportedSecondsOf } from '../../text/voice/transcript-answer.ts';

/** The models that may transcribe the client's speech. */
export interface OfferedTranscription {
  /** The upstream's names of the models, by their ids. */
  readonly models: ReadonlyMap<string, string>;
  /** Holds a transcription. @throws ServiceError if the hold is refused */
  readonly hold: (modelId: string, audioSeconds: number) => Promise<TextHold>;
}

type Upstream = Pick<NonNullable<TextOutcome['upstream']>, 'provider' | 'format'>;

interface RunningTranscription {
  readonly hold: TextHold;
  readonly upstream: NonNullable<TextOutcome['upstream']>;
  readonly audioSeconds: number;
  readonly startedAtMs: number;
}

/** More than a client may send at once. */
export const MAX_UNHEARD_SECONDS = 30;

export class Transcriptions {
  /** The upstream's names of the models on offer, by their ids. */
  readonly models: ReadonlyMap<string, string>;
  readonly #upstream: Upstream;
  readonly #offered: OfferedTranscription | null;
  #modelId: string | null = null;
  #requestedId: string | null = null;
  /** The audio since speech was last committed. */
  #heardSeconds = 0;
  /** By the upstream's id of the item. */
  readonly #running = new Map<string, RunningTranscription>();
  readonly #recorded: Promise<void>[] = [];

  /** @param offered null if no model may transcribe */
  constructor(offered: OfferedTranscription | null, upstream: Upstream) {
    this.models = offered?.models ?? new Map();
    this.#upstream = upstream;
    this.#offered = offered;
  }

  /** The id of the model in use; null while speech is not transcribed. */
  get modelId(): string | null {
    return this.#modelId;
  }

  get isIdle(): boolean {
    return this.#running.size === 0;
  }

  /** Notes the model that a client requests. */
  request(modelId: string | null): void {
    this.#requestedId = modelId ?? this.#requestedId;
  }

  /**
   * Notes the model that the upstream uses from now on. Only the upstream's own order of events tells whether it
   * transcribes the speech of an event.
   *
   * @param name the upstream's name of the model; null for none
   */
  confirm(name: string | null): void {
    const ids = [this.#requestedId, ...this.models.keys()];
    this.#modelId = name === null ? null : (ids.find((id) => id !== null && this.models.get(id) === name) ?? null);
  }

  hear(audioSeconds: number): void {
    this.#heardSeconds += audioSeconds;
  }

  /** Forgets the silence before speech that the upstream has noticed, apart from what it may not have heard yet. */
  startSpeech(): void {
    this.#heardSeconds = Math.min(this.#heardSeconds, MAX_UNHEARD_SECONDS);
  }

  clear(): void {
    this.#heardSeconds = 0;
  }

  /** Holds the transcription of speech that was committed. @throws ServiceError if the hold is refused */
  async start(itemId: string): Promise<void> {
    const audioSeconds = this.#heardSeconds;
    this.#heardSeconds = 0;
    const modelId = this.#modelId;
    if (this.#offered === null || modelId === null || this.#running.has(itemId)) return;
    const upstream = { ...this.#upstream, model: this.models.get(modelId) ?? modelId };
    const hold = await this.#offered.hold(modelId, audioSeconds);
    this.#running.set(itemId, { hold, upstream, audioSeconds, startedAtMs: performance.now() });
  }

  /** Charges a transcription that ended, or releases its hold if it failed. */
  finish(event: JsonObject): void {
    const itemId = stringOf(event['item_id']);
    const running = this.#running.get(itemId);
    if (running === undefined) return;
    this.#running.delete(itemId);
    const hasFailed = event['type'] === 'conversation.item.input_audio_transcription.failed';
    this.#settle(running, hasFailed ? 'failed' : 'succeeded', event, 'processing_failed');
  }

  /** Ends all transcriptions. @param isBroken whether the upstream broke off, and not the client left */
  async end(isBroken: boolean): Promise<void> {
    for (const running of this.#running.values()) {
      this.#settle(running, isBroken ? 'failed' : 'disconnected', {}, 'processing_timeout');
    }
    this.#running.clear();
    await Promise.all(this.#recorded);
  }

  #settle(
    { hold, upstream, audioSeconds, startedAtMs }: RunningTranscription,
    status: TextOutcome['status'],
    event: JsonObject,
    failure: 'processing_failed' | 'processing_timeout',
  ): void {
    const { usage } = event;
    const recorded = hold.settle({
      status,
      errorCode: status === 'failed' ? failure : null,
      usage: !isObject(usage) || usage['type'] === 'duration' ? null : readUsage(usage),
      countedOutputTokens: 0,
      audioSeconds: status === 'failed' ? 0 : Math.ceil(reportedSecondsOf(event) ?? audioSeconds),
      upstream,
      latencyMs: performance.now() - startedAtMs,
      firstByteMs: null,
      failedAttempts: [],
    });
    this.#recorded.push(recorded);
  }
}
