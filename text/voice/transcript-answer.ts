/** The answers of upstreams that transcribe: whole, or as OpenAI's events. Genway makes texts and subtitles. */
import { badRequest, type ServiceError } from '../../domain/errors.ts';
import { type JsonObject, listOf, objectOf, stringOf } from '../../domain/json.ts';
import { parseEventData } from '../answer-json.ts';
import type { TranscriptionOptions } from '../canonical.ts';
import { throwIfError } from '../chat-completions/upstream.ts';
import { checkFinish, finishReasonOf } from '../finish-reasons.ts';
import { type Frame, readEvents } from '../frames.ts';
import { throwIfBlocked, usageOf as readNativeUsage } from '../generate-content/upstream.ts';
import type { Meter } from '../meter.ts';
import { cutShort } from '../normalize.ts';
import { encodeEvent, isKeepAlive, type ServerSentEvent } from '../sse.ts';
import type { Emit, Stage } from '../stage.ts';
import { malformedAnswer } from '../upstream-errors.ts';
import { readUsage } from '../usage.ts';
import { maxSecondsOf, secondsOf } from './transcription.ts';

/** The white space before JSON, at most. */
const MAX_SPACE = 16;

/** Reads a whole answer. @returns the client's body: JSON or a text */
export function readTranscript(
  answer: unknown,
  transcription: TranscriptionOptions,
  meter: Meter,
): JsonObject | string {
  const body = inOpenAiForm(objectOf(answer));
  throwIfError(body);
  if (typeof body['text'] !== 'string') throw malformedAnswer();
  measure(body, transcription, meter);
  meter.see({ type: 'finish', reason: 'stop' });
  return render(body, transcription, meter);
}

/** The stage from an upstream's events, or from a whole answer in their place, to those for the client. */
export function readTranscriptEvents(
  transcription: TranscriptionOptions,
  meter: Meter,
): Stage<Frame, Uint8Array | string> {
  const events = readEvents();
  const take = (event: ServerSentEvent, emit: Emit<Uint8Array | string>): void => {
    meter.hear(event);
    if (isKeepAlive(event) || event.data === '[DONE]') return;
    const data = inOpenAiForm(parseEventData(event));
    throwIfError(data, event.event);
    if (data['type'] === undefined && typeof data['text'] === 'string') {
      emit(encodeEvent(JSON.stringify({ type: 'transcript.text.delta', delta: data['text'] })));
      data['type'] = 'transcript.text.done';
    }
    if (data['type'] === 'transcript.text.delta') {
      meter.see({ type: 'text-delta', id: '0', text: stringOf(data['delta']) });
    }
    if (data['type'] === 'transcript.text.done') {
      measure(data, transcription, meter);
      meter.see({ type: 'finish', reason: 'stop' });
      data['usage'] = usageFor(data, meter);
    }
    emit(encodeEvent(JSON.stringify(data)));
  };
  // An upstream that does not stream answers with JSON at once.
  let whole: Buffer[] | null = null;
  let hasFrames = false;
  return {
    push(frame, emit) {
      if (!hasFrames && frame.bytes.toString('latin1', 0, MAX_SPACE).trimStart().startsWith('{')) whole = [];
      hasFrames = true;
      if (whole === null) events.push(frame, (event) => take(event, emit));
      else whole.push(frame.bytes);
    },
    end(emit) {
      if (whole === null) events.end((event) => take(event, emit));
      else take({ event: null, data: Buffer.concat(whole).toString() }, emit);
      if (!meter.finished) throw cutShort();
    },
  };
}

/**
 * An answer of the native format in OpenAI's form; any other unchanged.
 *
 * @throws ServiceError if moderation refused it, if the model cut it off, and if it is empty without a reason
 */
function inOpenAiForm(answer: JsonObject): { [name: string]: unknown } {
  throwIfBlocked(answer);
  const [candidate] = listOf(answer['candidates']).map(objectOf);
  if (candidate === undefined) return { ...answer };
  const parts = listOf(objectOf(candidate['content'])['parts']).map(objectOf);
  const text = parts.map(textOfPart).join('').trim();
  const reported = stringOf(candidate['finishReason']);
  checkFinish(reported, text !== '');
  const reason = finishReasonOf(reported);
  if (reason === 'length') throw tooLong();
  if (reason !== null && reported !== 'STOP') throw cutShort();
  return { text, usageMetadata: answer['usageMetadata'] };
}

/** Models that only transcribe answer with parts of their own kind: https://github.com/hugalafutro/model-hotel/pull/923 */
function textOfPart(part: JsonObject): string {
  if (part['thought'] === true) return '';
  return stringOf(objectOf(part['audioTranscription'])['text'] ?? part['text']);
}

function tooLong(): ServiceError {
  return badRequest('The transcript is longer than the model can write; send "file" in shorter parts');
}

/** Google counts so many tokens a second: https://ai.google.dev/gemini-api/docs/audio */
const NATIVE_TOKENS_PER_SECOND = 32;

/** Records the usage, and the seconds: as reported, or those of the file, or of the tokens of its audio, or the most. */
function measure(body: JsonObject, { audio }: TranscriptionOptions, meter: Meter): void {
  const usage = objectOf(body['usage']);
  meter.heard = true;
  if (stringOf(body['text']) !== '' && meter.outputLength === 0) {
    meter.see({ type: 'text-delta', id: '0', text: stringOf(body['text']) });
  }
  const { usageMetadata } = body;
  if (usageMetadata !== undefined) meter.see({ type: 'usage', usage: readNativeUsage(objectOf(usageMetadata)) });
  else if (usage['input_tokens'] !== undefined) meter.see({ type: 'usage', usage: readUsage(usage) });
  const heard = usageMetadata === undefined ? null : (meter.usage.audioInput ?? 0) / NATIVE_TOKENS_PER_SECOND;
  meter.audioSeconds = reportedSecondsOf(body) ?? secondsOf(audio) ?? firstPositive(heard) ?? maxSecondsOf(audio);
}

/** The seconds of audio that an answer or an event reports; undefined for none. 0 reports nothing: all audio has a length. */
export function reportedSecondsOf(answer: JsonObject): number | undefined {
  const usage = objectOf(answer['usage']);
  // The second one is Mistral's: https://docs.mistral.ai/capabilities/audio_transcription
  return firstPositive(usage['seconds'], usage['prompt_audio_seconds'], answer['duration']);
}

function firstPositive(...values: readonly unknown[]): number | undefined {
  return values.map(Number).find((value) => Number.isFinite(value) && value > 0);
}

/** The usage as reported, or the seconds. */
function usageFor(body: JsonObject, meter: Meter): unknown {
  const { usageMetadata, usage } = body;
  if (usageMetadata === undefined) return usage ?? { type: 'duration', seconds: Math.ceil(meter.audioSeconds) };
  const { inputTotal, outputTotal, audioInput } = meter.charged();
  const [input, output] = [inputTotal ?? 0, outputTotal ?? 0];
  const details = { audio_tokens: audioInput ?? 0, text_tokens: input - (audioInput ?? 0) };
  const counts = { input_tokens: input, input_token_details: details, output_tokens: output };
  return { type: 'tokens', ...counts, total_tokens: input + output };
}

function render(body: JsonObject, { format }: TranscriptionOptions, meter: Meter): JsonObject | string {
  if (format === 'text') return `${stringOf(body['text'])}\n`;
  if (format === 'srt') return segmentsOf(body).map(srtEntry).join('\n');
  if (format === 'vtt') return `WEBVTT\n\n${segmentsOf(body).map(vttEntry).join('\n')}`;
  const { usageMetadata: _native, ...shown } = body;
  return { ...shown, usage: usageFor(body, meter) };
}

interface Segment {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** One segment with the whole text if the upstream made none. */
function segmentsOf(body: JsonObject): readonly Segment[] {
  const segments = listOf(body['segments']).map(objectOf);
  if (segments.length === 0) return [{ start: 0, end: secondsIn(body['duration']), text: stringOf(body['text']) }];
  return segments.map(({ start, end, text }) => ({
    start: secondsIn(start),
    end: secondsIn(end),
    text: stringOf(text).trim(),
  }));
}

function secondsIn(value: unknown): number {
  return typeof value === 'number' && value >= 0 && value < 1e6 ? value : 0;
}

function srtEntry({ start, end, text }: Segment, index: number): string {
  return `${index + 1}\n${clock(start, ',')} --> ${clock(end, ',')}\n${text}\n`;
}

function vttEntry({ start, end, text }: Segment): string {
  return `${clock(start, '.')} --> ${clock(end, '.')}\n${text}\n`;
}

/** Such as `00:01:02.345`. */
function clock(seconds: number, separator: '.' | ','): string {
  const ms = Math.round(seconds * 1000);
  const [hours, minutes, whole] = [ms / 3_600_000, (ms / 60_000) % 60, (ms / 1000) % 60].map(Math.floor);
  const parts = [hours, minutes, whole].map((part) => String(part).padStart(2, '0')).join(':');
  return `${parts}${separator}${String(ms % 1000).padStart(3, '0')}`;
}
