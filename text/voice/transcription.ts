/** Requests to transcribe or translate speech, in the form of OpenAI's API, and the requests to upstreams: contract 4.8.7. */
import { presentTypedError } from '../../domain/error-envelope.ts';
import { badRequest } from '../../domain/errors.ts';
import { isObject, type JsonObject } from '../../domain/json.ts';
import type { AudioFile, TextRequest, TranscriptionOptions } from '../canonical.ts';
import { headersOf } from '../chat-completions/build-request.ts';
import { renderError } from '../chat-completions/errors.ts';
import { fields } from '../fields.ts';
import { addressOf } from '../generate-content/build-request.ts';
import {
  arrayOf,
  described,
  numberBetween,
  oneOf,
  optional,
  readBoolean,
  readName,
  readObject,
  readString,
  textOr,
} from '../read.ts';
import { encodeEvent } from '../sse.ts';
import type { ParseContext, SingleFormat, UpstreamOptions, UpstreamRequest } from '../wire-format.ts';

const TRANSCRIPT_FORMATS = ['json', 'text', 'srt', 'vtt', 'verbose_json', 'diarized_json'] as const;
export type TranscriptFormat = (typeof TRANSCRIPT_FORMATS)[number];

const STREAMED_FORMATS: ReadonlySet<TranscriptFormat> = new Set(['json', 'text', 'diarized_json']);

const common = {
  model: readName,
  prompt: optional(described(readString, 'Guides the style, or continues a previous part')),
  response_format: optional(oneOf(TRANSCRIPT_FORMATS)),
  temperature: optional(numberBetween(0, 1)),
  user: optional(described(readString, 'Identifies the end user')),
};

export const readTranscription = fields(
  {
    ...common,
    language: optional(described(readString, 'The language of the speech, as ISO 639-1')),
    stream: optional(readBoolean),
    timestamp_granularities: optional(arrayOf(oneOf(['word', 'segment']))),
    include: optional(arrayOf(oneOf(['logprobs']))),
    chunking_strategy: optional(
      described(
        textOr<string | JsonObject>(readString, readObject),
        '`auto`, an object as JSON, or its fields as `chunking_strategy[type]`',
      ),
    ),
    known_speaker_names: optional(arrayOf(readString)),
    known_speaker_references: optional(described(arrayOf(readString), 'Samples of up to four speakers as data URLs')),
  },
  { unknown: 'refuse' },
);
export const readTranslation = fields(common, { unknown: 'refuse' });

export const transcriptions: SingleFormat = formatOf('transcriptions');
export const translations: SingleFormat = formatOf('translations');

function formatOf(name: 'transcriptions' | 'translations'): SingleFormat {
  return {
    name,
    client: {
      keepAliveFrame: null,
      parseRequest: (body, context) => parseRequest(name, body, context),
      renderError,
      renderRefusal: presentTypedError,
      renderStreamError: (error, requestId) =>
        encodeEvent(JSON.stringify({ type: 'error', ...renderError(error, requestId) })),
    },
  };
}

function parseRequest(task: TranscriptionOptions['task'], body: unknown, { audio }: ParseContext): TextRequest {
  if (audio === undefined) throw badRequest('"file" is required: the audio, with a filename');
  const { stream = false, ...request } =
    task === 'transcriptions'
      ? readTranscription(body, '').all()
      : { ...readTranslation(body, '').all(), stream: false };
  const { model, user, response_format: format = 'json', prompt, ...settings } = request;
  if (stream && !STREAMED_FORMATS.has(format)) {
    throw badRequest('"response_format" must be json, text or diarized_json if "stream" is true');
  }
  return {
    model,
    stream,
    turns: prompt === undefined ? [] : [{ role: 'user', parts: [{ type: 'text', text: prompt }] }],
    tools: [],
    sampling: { maxOutputTokens: maxTranscriptTokens(audio) },
    userId: user,
    transcription: { task, audio, format, fields: { ...settings, prompt } },
  };
}

/** No codec of speech needs fewer bytes a second. */
const MIN_BYTES_PER_SECOND = 500;
/** No usual audio has more: 16 bits, stereo, 48 kHz. */
const MAX_BYTES_PER_SECOND = 192_000;
/** People speak about 4; Google counts 32 for the audio. */
const MAX_TOKENS_PER_SECOND = 15;
const MAX_AUDIO_TOKENS_PER_SECOND = 40;
const TOKENS_AROUND = 256;

/** The most seconds that a file of this size may last, whatever it announces. */
export function maxSecondsOf({ bytes }: Pick<AudioFile, 'bytes'>): number {
  return Math.ceil(bytes / MIN_BYTES_PER_SECOND) + 1;
}

/** The length of a file, rounded up, if its size is plausible for it; null if it is not known. */
export function secondsOf(audio: Pick<AudioFile, 'bytes' | 'seconds'>): number | null {
  const { bytes, seconds } = audio;
  if (seconds === null || bytes / seconds > MAX_BYTES_PER_SECOND) return null;
  return Math.min(Math.ceil(seconds), maxSecondsOf(audio));
}

/** The seconds to hold for: the length of the file; or else the most. */
export function secondsToHold(audio: Pick<AudioFile, 'bytes' | 'seconds'>): number {
  return secondsOf(audio) ?? maxSecondsOf(audio);
}

function maxTranscriptTokens(audio: AudioFile): number {
  return secondsToHold(audio) * MAX_TOKENS_PER_SECOND + TOKENS_AROUND;
}

/** The most tokens of the audio itself. */
export function maxAudioTokens(audio: AudioFile): number {
  return secondsToHold(audio) * MAX_AUDIO_TOKENS_PER_SECOND + TOKENS_AROUND;
}

/** What the upstream is asked for: Genway makes texts and subtitles itself, because they have neither usage nor duration. */
function requestedFormat({ format }: TranscriptionOptions): TranscriptFormat {
  if (format === 'text') return 'json';
  return format === 'srt' || format === 'vtt' ? 'verbose_json' : format;
}

/** @throws ServiceError `bad_request` when the route cannot express the request */
export function buildTranscriptionRequest(
  transcription: TranscriptionOptions,
  isNative: boolean,
  isStreamed: boolean,
  options: UpstreamOptions,
): UpstreamRequest {
  return isNative ? buildNative(transcription, options) : buildForm(transcription, isStreamed, options);
}

/** https://platform.openai.com/docs/api-reference/audio/createTranscription */
function buildForm(
  transcription: TranscriptionOptions,
  isStreamed: boolean,
  options: UpstreamOptions,
): UpstreamRequest {
  const { audio, task, fields: given } = transcription;
  const boundary = `genway-${crypto.randomUUID()}`;
  const values: [name: string, value: unknown][] = [
    ['model', options.model],
    ['response_format', requestedFormat(transcription)],
    ...(isStreamed ? [['stream', true] as [string, unknown]] : []),
    ...Object.entries(given).flatMap(([name, value]) => partsOf(name, value)),
  ];
  const head = Buffer.from(
    [
      ...values.map(
        ([name, value]) =>
          `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${String(value)}\r\n`,
      ),
      `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="${quoted(audio.filename)}"\r\n`,
      `Content-Type: ${audio.contentType}\r\n\r\n`,
    ].join(''),
  );
  const tail = Buffer.from(`\r\n--${boundary}--\r\n`);
  return {
    path: `/audio/${task}`,
    headers: headersOf(options),
    body: {},
    content: {
      type: `multipart/form-data; boundary=${boundary}`,
      byteLength: head.byteLength + audio.bytes + tail.byteLength,
      async *read() {
        yield head;
        yield* audio.read();
        yield tail;
      },
    },
  };
}

/** A list or an object has a part for each of its values. */
function partsOf(name: string, value: unknown): readonly [name: string, value: unknown][] {
  if (Array.isArray(value)) return value.map((item) => [`${name}[]`, item]);
  if (isObject(value)) return Object.entries(value).map(([field, item]) => [`${name}[${field}]`, item]);
  return value === undefined ? [] : [[name, value]];
}

function quoted(text: string): string {
  return text.replaceAll(/["\r\n]/g, (character) => encodeURIComponent(character));
}

/** Google's limit for a request with its files inside is 20 MB: https://ai.google.dev/gemini-api/docs/audio */
const MAX_INLINE_BYTES = 14 * 2 ** 20;
const TASKS = {
  transcriptions: 'Transcribe the speech word for word. Answer with the transcript alone.',
  translations: 'Translate the speech into English. Answer with the translation alone.',
} as const;

/** Models that only transcribe answer an instruction with nothing: https://github.com/hugalafutro/model-hotel/pull/923 */
const TRANSCRIBER = /(?:^|-)transcribe(?:-|$)/;

function buildNative({ audio, task, format, fields: given }: TranscriptionOptions, options: UpstreamOptions) {
  if (format !== 'json' && format !== 'text') throw badRequest('"response_format" must be one of: [json text]');
  if (audio.bytes > MAX_INLINE_BYTES) throw badRequest(`"file" must have at most ${MAX_INLINE_BYTES} bytes`);
  const language = given['language'];
  const hints = [
    TASKS[task],
    ...(typeof language === 'string' ? [`The language is ${language}.`] : []),
    ...(typeof given['prompt'] === 'string' ? [given['prompt']] : []),
  ];
  const body: JsonObject = {
    contents: [
      {
        role: 'user',
        parts: [
          ...(TRANSCRIBER.test(options.model) ? [] : [{ text: hints.join(' ') }]),
          { inlineData: { mimeType: audio.contentType, data: '' } },
        ],
      },
    ],
    ...(given['temperature'] !== undefined && { generationConfig: { temperature: given['temperature'] } }),
  };
  const [head = '', tail = ''] = JSON.stringify(body).split(/(?<="data":")/);
  return {
    ...addressOf({ stream: false }, options),
    body: {},
    content: {
      type: 'application/json',
      byteLength: Buffer.byteLength(head) + Math.ceil(audio.bytes / 3) * 4 + Buffer.byteLength(tail),
      async *read() {
        yield Buffer.from(head);
        yield* inBase64(audio.read());
        yield Buffer.from(tail);
      },
    },
  };
}

async function* inBase64(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let rest = Buffer.alloc(0);
  for await (const chunk of source) {
    const bytes = Buffer.concat([rest, chunk]);
    const whole = bytes.byteLength - (bytes.byteLength % 3);
    rest = bytes.subarray(whole);
    yield Buffer.from(bytes.toString('base64', 0, whole), 'latin1');
  }
  yield Buffer.from(rest.toString('base64'), 'latin1');
}
