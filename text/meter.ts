/**
 * Measures an answer as it passes: what to bill, and how it ended. On the identity path the forwarded bytes are read
 * for it; on the converting path it sits between two stages.
 */
import { COMPRESSED_BYTES_PER_SECOND } from '../domain/speech-format.ts';
import { UNREPORTED_USAGE, mergeUsage, type AudioPart, type StreamEvent, type Usage } from './canonical.ts';
import { isKeepAlive, type ServerSentEvent } from './sse.ts';
import type { Stage } from './stage.ts';
import { TokenCounter } from './token-estimate.ts';

/** Google counts 25, OpenAI 20: https://ai.google.dev/gemini-api/docs/speech-generation */
export const SPEECH_TOKENS_PER_SECOND = 25;

/** Google counts 1,290 for an image of a megapixel: https://ai.google.dev/gemini-api/docs/image-generation */
const TOKENS_PER_IMAGE = 1_290;

/** The usage of an answer, as its upstream reported it and as the gateway counted it. */
export interface Consumption {
  /** Null when nothing was reported. */
  readonly usage: Usage | null;
  readonly countedOutputTokens: number;
  /** The estimated tokens of the audio that passed. */
  readonly countedAudioTokens: number;
}

/** The measurements. They can be read at any time, even for an answer that broke off. */
export class Meter {
  usage: Usage = UNREPORTED_USAGE;
  /** Whether a stream has sent anything, even just an announcement. */
  heard = false;
  /** Whether any of the answer itself has arrived. */
  hasStarted = false;
  /** How many events were skipped because they could not be read. */
  unreadableEvents = 0;
  /** Whether the answer was complete. */
  finished = false;
  /** Text, reasoning and tool arguments so far, for an estimate in case no usage is reported. */
  readonly #output = new TokenCounter();
  /** Estimated tokens and bytes of audio so far. */
  #audioTokens = 0;
  #audioLength = 0;
  #imageCount = 0;
  #imageLength = 0;
  /** The part of the output that came after the last report of output tokens. */
  #unreportedLength = 0;
  /** The size of a second of the answer's audio, to estimate its tokens. */
  audioBytesPerSecond = COMPRESSED_BYTES_PER_SECOND;
  /** Seconds of spoken or transcribed audio so far, rounded up when they are charged. */
  audioSeconds = 0;
  /** Searches by which documents were ranked. */
  searchUnits = 0;
  /** Searches of the web by an upstream that does not report them. */
  assumedWebSearches: number | null = null;
  /** Searches that Genway ran for the answer. */
  webSearches: number | null = null;
  readonly #charge: (consumption: Consumption) => Usage;

  /** @param charge the usage that a complete answer is charged for; what the upstream reported by default */
  constructor(charge: (consumption: Consumption) => Usage = ({ usage }) => usage ?? UNREPORTED_USAGE) {
    this.#charge = charge;
  }

  /** Whether output came after the last report of output tokens. */
  get hasUnreportedOutput(): boolean {
    return this.#unreportedLength > 0;
  }

  /** UTF-16 units of text, bytes of audio, and digits of images, so far. */
  get outputLength(): number {
    return this.#output.length + this.#audioLength + this.#imageLength;
  }

  /** Records an event as received. Keep-alives do not count. */
  hear(event: ServerSentEvent): void {
    this.heard ||= !isKeepAlive(event);
  }

  see(event: StreamEvent): void {
    this.hasStarted ||= isOfAnswer(event);
    if (event.type === 'usage') this.#takeUsage(event.usage);
    else if (event.type === 'finish') this.finished = true;
    else if (event.type === 'audio-delta') this.#seePiece(event.audio);
    else if (event.type === 'image') this.#seeImage(event.image.data.length);
    else if ('text' in event) {
      this.#output.add(event.text);
      this.#unreportedLength += event.text.length;
    }
  }

  /** Records audio as received. @param tokens an estimate, in case the upstream reports none */
  seeAudio({ length, tokens }: { readonly length: number; readonly tokens: number }): void {
    this.heard = true;
    this.hasStarted = true;
    this.#audioTokens += tokens;
    this.#audioLength += length;
    this.#unreportedLength += length;
  }

  #seePiece({ data = '', transcript = '' }: Omit<AudioPart, 'type'>): void {
    this.#output.add(transcript);
    this.#unreportedLength += transcript.length;
    const length = Buffer.byteLength(data, 'base64');
    if (length > 0) {
      this.seeAudio({ length, tokens: (length / this.audioBytesPerSecond) * SPEECH_TOKENS_PER_SECOND });
    }
  }

  #seeImage(length: number): void {
    this.#imageCount += 1;
    this.#imageLength += length;
    this.#unreportedLength += length;
  }

  /** Whether an upstream may bill the answer so far: it reported usage, or sent output. */
  get hasUsed(): boolean {
    return this.outputLength > 0 || this.consumption(false).usage !== null;
  }

  /** The estimated tokens of the output that passed. */
  countSeenTokens(): number {
    return this.#output.count() + this.countAudioTokens() + this.#imageCount * TOKENS_PER_IMAGE;
  }

  /** The estimated tokens of the audio that passed. */
  countAudioTokens(): number {
    return Math.ceil(this.#audioTokens);
  }

  /** The output tokens so far: the reported count plus an estimate of the later output, but at least the counted output. */
  countOutputTokens(): number {
    if (this.outputLength === 0) return this.usage.outputTotal ?? 0;
    const seen = this.countSeenTokens();
    const since = (seen * this.#unreportedLength) / this.outputLength;
    return Math.ceil(Math.max(seen, (this.usage.outputTotal ?? 0) + since));
  }

  /**
   * The usage so far. No prompt and no text has 0 tokens: some upstreams put 0 in fields that they do not
   * count. Neither does an output count tell anything that later output has overtaken, unless the answer is complete.
   */
  consumption(isComplete: boolean): Consumption {
    const { inputTotal, outputTotal } = this.usage;
    const isCounted = (isComplete || !this.hasUnreportedOutput) && (outputTotal !== 0 || this.outputLength === 0);
    const output = isCounted ? outputTotal : null;
    const input = inputTotal === 0 ? null : inputTotal;
    const isReported = input !== null || output !== null;
    const webSearches =
      this.webSearches ?? this.usage.webSearches ?? (this.hasStarted ? this.assumedWebSearches : null);
    const hasOthers = this.usage.reasoning !== null || webSearches !== null;
    return {
      usage: isReported || hasOthers ? { ...this.usage, inputTotal: input, outputTotal: output, webSearches } : null,
      countedOutputTokens: (isComplete && isReported ? output : null) ?? this.countOutputTokens(),
      countedAudioTokens: this.countAudioTokens(),
    };
  }

  /** The usage to charge if the answer ends here. */
  charged(): Usage {
    return this.#charge(this.consumption(true));
  }

  #takeUsage(usage: Usage): void {
    this.usage = mergeUsage(this.usage, usage);
    if (usage.outputTotal !== null) this.#unreportedLength = 0;
  }

  /** The stage that records events as received. */
  hearingStage(): Stage<ServerSentEvent, ServerSentEvent> {
    return {
      push: (event, emit) => {
        this.hear(event);
        emit(event);
      },
      end() {},
    };
  }

  /** The stage that replaces the usage at the end of legal events with the usage that is charged. */
  chargeStage(): Stage<StreamEvent, StreamEvent> {
    let hasParts = false;
    let hasEnded = false;
    return {
      push: (event, emit) => {
        // Usage before the first part is what formats start with.
        if (event.type === 'usage' && hasParts) return;
        if (event.type === 'finish' && !hasEnded) {
          hasEnded = true;
          emit({ type: 'usage', usage: this.charged() });
        }
        hasParts ||= event.type !== 'usage' && event.type !== 'response-start';
        emit(event);
      },
      end() {},
    };
  }

  /** The stage that measures events and lets them through unchanged. */
  stage(): Stage<StreamEvent, StreamEvent> {
    return {
      push: (event, emit) => {
        this.see(event);
        emit(event);
      },
      end() {},
    };
  }
}

/** Upstreams announce an answer before they know whether they can give one. */
const ANNOUNCEMENTS: ReadonlySet<StreamEvent['type']> = new Set([
  'response-start',
  'usage',
  'text-start',
  'reasoning-start',
]);

function isOfAnswer(event: StreamEvent): boolean {
  return 'text' in event ? event.text !== '' : !ANNOUNCEMENTS.has(event.type);
}
