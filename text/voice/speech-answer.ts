/** The answers of upstreams that speak: as the bytes of a file, as OpenAI's events, or as Google's. */
import { COMPRESSED_BYTES_PER_SECOND, isUncompressed, type SpeechFormat } from '../../domain/speech-format.ts';
import { type JsonObject, listOf, objectOf, stringOf } from '../../domain/json.ts';
import { type SpeechOptions, UNREPORTED_USAGE } from '../canonical.ts';
import { throwIfError } from '../chat-completions/upstream.ts';
import { type Frame, framePieces, readEvents, splitFrames } from '../frames.ts';
import { checkFinish, finishReasonOf } from '../finish-reasons.ts';
import { throwIfBlocked, usageOf as readNativeUsage } from '../generate-content/upstream.ts';
import { parseEventData } from '../answer-json.ts';
import { type Meter, SPEECH_TOKENS_PER_SECOND } from '../meter.ts';
import { cutShort } from '../normalize.ts';
import { encodeEvent, isKeepAlive, type ServerSentEvent } from '../sse.ts';
import type { Emit, Stage } from '../stage.ts';
import { malformedAnswer } from '../upstream-errors.ts';
import { readUsage } from '../usage.ts';
import { bytesPerSecond, type Pcm, pcmOfType, pcmOfWav, USUAL_PCM, wavHeader } from '../../domain/wav.ts';

export const SPEECH_TYPES: Readonly<Record<SpeechFormat, string>> = {
  mp3: 'audio/mpeg',
  opus: 'audio/opus',
  aac: 'audio/aac',
  flac: 'audio/flac',
  wav: 'audio/wav',
  pcm: 'audio/pcm',
};

/** No file of audio starts like this. Samples may start with any byte, but hardly with printable ones only. */
const EVENTS = /^(?:data:|event:|id:|retry:|:|\{)[\t\n\r -~]*$/;
const SNIFFED_BYTES = 8;

/** The stage that splits an answer into events or, if it has none, into pieces as they arrive. */
export function splitSpeech(): Stage<Buffer, Frame> {
  let splitter: Stage<Buffer, Frame> | null = null;
  return {
    push(bytes, emit) {
      splitter ??= isText(bytes) ? splitFrames() : framePieces();
      splitter.push(bytes, emit);
    },
    end: (emit) => splitter?.end(emit),
  };
}

function isText(bytes: Buffer): boolean {
  return EVENTS.test(bytes.toString('latin1', 0, SNIFFED_BYTES));
}

/** The stage from an answer to the bytes or events for the client. Measures the answer. */
export function readSpeech(speech: SpeechOptions, meter: Meter): Stage<Frame, Uint8Array | string> {
  return new SpeechReading(speech, meter);
}

/** Converts an answer that Google sends whole to the bytes or events for the client. Throws like {@link readSpeech}. */
export function convertSpeech(answer: unknown, speech: SpeechOptions, meter: Meter): (Uint8Array | string)[] {
  const pieces: (Uint8Array | string)[] = [];
  new SpeechReading(speech, meter).takeWhole(objectOf(answer), (piece) => void pieces.push(piece));
  return pieces;
}

class SpeechReading implements Stage<Frame, Uint8Array | string> {
  readonly #speech: SpeechOptions;
  readonly #meter: Meter;
  readonly #events = readEvents();
  #isText: boolean | null = null;
  #hasAudio = false;
  #isDone = false;
  /** The samples of upstreams that send no file. */
  #pcm: Pcm | null = null;

  constructor(speech: SpeechOptions, meter: Meter) {
    this.#speech = speech;
    this.#meter = meter;
  }

  push(frame: Frame, emit: Emit<Uint8Array | string>): void {
    this.#isText ??= isText(frame.bytes);
    if (this.#isText) this.#events.push(frame, (event) => this.#takeEvent(event, emit));
    else this.#takeAudio(frame.bytes, emit);
  }

  takeWhole(json: JsonObject, emit: Emit<Uint8Array | string>): void {
    this.#isText = true;
    this.#takeEvent({ event: null, data: '', json }, emit);
    this.end(emit);
  }

  end(emit: Emit<Uint8Array | string>): void {
    if (this.#isText === true) {
      this.#events.end((event) => this.#takeEvent(event, emit));
      if (!this.#isDone) throw cutShort();
    }
    if (!this.#hasAudio) throw malformedAnswer();
    this.#meter.see({ type: 'finish', reason: 'stop' });
    if (this.#speech.asEvents) emit(encodeEvent(JSON.stringify({ type: 'speech.audio.done', usage: this.#usage() })));
  }

  /** The tokens that are charged, if the price depends on tokens. */
  #usage(): JsonObject {
    const { inputTotal, outputTotal } = this.#meter.charged();
    const [input, output] = [inputTotal ?? 0, outputTotal ?? 0];
    return { input_tokens: input, output_tokens: output, total_tokens: input + output };
  }

  #takeEvent(event: ServerSentEvent, emit: Emit<Uint8Array | string>): void {
    this.#meter.hear(event);
    if (isKeepAlive(event)) return;
    const data = parseEventData(event);
    throwIfError(data, event.event);
    throwIfBlocked(data);
    if (data['candidates'] !== undefined || data['usageMetadata'] !== undefined) return this.#takeNative(data, emit);
    const { type, audio, usage } = data;
    if (type === 'speech.audio.delta') return this.#takeAudio(Buffer.from(stringOf(audio), 'base64'), emit);
    if (type !== 'speech.audio.done') return;
    this.#isDone = true;
    const counts = readUsage(objectOf(usage));
    if (usage === undefined) return;
    this.#meter.see({ type: 'usage', usage: { ...counts, audioOutput: counts.outputTotal } });
  }

  #takeNative(data: JsonObject, emit: Emit<Uint8Array | string>): void {
    if (data['usageMetadata'] !== undefined) {
      const usage = readNativeUsage(objectOf(data['usageMetadata']));
      this.#meter.see({ type: 'usage', usage: { ...UNREPORTED_USAGE, ...usage, audioOutput: usage.outputTotal } });
    }
    for (const candidate of listOf(data['candidates']).map(objectOf)) {
      for (const part of listOf(objectOf(candidate['content'])['parts'])) {
        const { mimeType, data: audio } = objectOf(objectOf(part)['inlineData']);
        if (audio === undefined) continue;
        if (this.#pcm === null) {
          this.#pcm = pcmOfType(stringOf(mimeType));
          if (this.#speech.audioFormat === 'wav') this.#takeAudio(wavHeader(this.#pcm), emit);
        }
        this.#takeAudio(Buffer.from(stringOf(audio), 'base64'), emit);
      }
      this.#takeFinish(stringOf(candidate['finishReason']));
    }
  }

  /** Google cuts long speech off with `OTHER`: https://github.com/googleapis/python-genai/issues/922 */
  #takeFinish(reported: string): void {
    if (finishReasonOf(reported) === null) return;
    checkFinish(reported, this.#hasAudio);
    if (reported !== 'STOP') throw cutShort();
    this.#isDone = true;
  }

  #takeAudio(bytes: Buffer, emit: Emit<Uint8Array | string>): void {
    if (bytes.byteLength === 0) return;
    const { audioFormat, asEvents } = this.#speech;
    const isMeasured = isUncompressed(audioFormat);
    if (!this.#hasAudio && audioFormat === 'wav') this.#pcm ??= pcmOfWav(bytes);
    this.#hasAudio = true;
    const rate = isMeasured ? bytesPerSecond(this.#pcm ?? USUAL_PCM) : COMPRESSED_BYTES_PER_SECOND;
    const seconds = bytes.byteLength / rate;
    if (isMeasured) this.#meter.audioSeconds += seconds;
    this.#meter.seeAudio({ length: bytes.byteLength, tokens: seconds * SPEECH_TOKENS_PER_SECOND });
    const audio = asEvents ? bytes.toString('base64') : '';
    emit(asEvents ? encodeEvent(JSON.stringify({ type: 'speech.audio.delta', audio })) : bytes);
  }
}
