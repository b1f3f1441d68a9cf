/** Requests to speak a text, in the form of OpenAI's API, and the requests to upstreams: contract 4.8.6. */
import { presentTypedError } from '../../domain/error-envelope.ts';
import { badRequest } from '../../domain/errors.ts';
import { VOICE } from '../../domain/policy.ts';
import { SPEECH_FORMATS, type SpeechFormat, UNCOMPRESSED_SPEECH_FORMATS } from '../../domain/speech-format.ts';
import type { UpstreamFormatName } from '../../domain/wire-format-name.ts';
import type { SpeechOptions, TextRequest } from '../canonical.ts';
import { headersOf } from '../chat-completions/build-request.ts';
import { renderError } from '../chat-completions/errors.ts';
import { fields, record } from '../fields.ts';
import { addressOf } from '../generate-content/build-request.ts';
import {
  compact,
  constrained,
  described,
  mapped,
  numberBetween,
  oneOf,
  optional,
  reader,
  readName,
  readString,
  readText,
} from '../read.ts';
import { SPEECH_TOKENS_PER_SECOND } from '../meter.ts';
import { encodeEvent } from '../sse.ts';
import type { SingleFormat, UpstreamOptions, UpstreamRequest } from '../wire-format.ts';

/** The format if a request names none, as of OpenAI's API. */
const USUAL_FORMAT: SpeechFormat = 'mp3';
const readInput = mapped(constrained(readText, { maxLength: VOICE.maxCharacters }), (text, path) => {
  const characters = countCharacters(text);
  if (characters > VOICE.maxCharacters) {
    throw badRequest(`"${path}" accepts at most ${VOICE.maxCharacters} characters; it has ${characters}`);
  }
  return { text, characters };
});

const readCustomVoice = record({ id: readName });
const readVoice = reader({ oneOf: [readName.schema, readCustomVoice.schema] }, (value, path) =>
  typeof value === 'object' && value !== null ? readCustomVoice(value, path) : readName(value, path),
);

export const readRequest = fields(
  {
    model: readName,
    input: described(readInput, 'The text to speak'),
    voice: described(readVoice, 'The name of a voice of the upstream, or the id of a custom voice'),
    instructions: optional(described(readString, 'How to speak, if the model can be told')),
    response_format: optional(oneOf(SPEECH_FORMATS)),
    speed: optional(numberBetween(0.25, 4)),
    stream_format: optional(
      described(oneOf(['audio', 'sse']), '`audio`, the default: the bytes of a file; `sse`: server-sent events'),
    ),
    user: optional(described(readString, 'Identifies the end user')),
  },
  { unknown: 'refuse' },
);

/** Code points. */
function countCharacters(text: string): number {
  const surrogatePairs = text.match(/[\ud800-\udbff][\udc00-\udfff]/g)?.length ?? 0;
  return text.length - surrogatePairs;
}

export const speech: SingleFormat = {
  name: 'speech',
  client: {
    keepAliveFrame: null,
    parseRequest,
    renderError,
    renderRefusal: presentTypedError,
    // A file has no place for an error, so its connection is broken off.
    renderStreamError: (error, requestId, { context }) =>
      context.request.speech?.asEvents === true
        ? encodeEvent(JSON.stringify({ type: 'error', ...renderError(error, requestId) }))
        : null,
  },
};

function parseRequest(body: unknown): TextRequest {
  const request = readRequest(body, '').all();
  const { text, characters } = request.input;
  return {
    model: request.model,
    // The file arrives while it is made, whether as bytes or as events.
    stream: true,
    turns: [{ role: 'user', parts: [{ type: 'text', text }] }],
    tools: [],
    sampling: { maxOutputTokens: maxSpeechTokens(characters) },
    userId: request.user,
    speech: {
      text,
      characters,
      voice: request.voice,
      instructions: request.instructions,
      speed: request.speed,
      audioFormat: request.response_format ?? USUAL_FORMAT,
      asEvents: request.stream_format === 'sse',
    },
  };
}

/** As many as the slowest script: a Chinese character takes a quarter of a second. */
const MAX_TOKENS_PER_CHARACTER = 8;
const MAX_TOKENS_AROUND = 250;

function maxSpeechTokens(characters: number): number {
  return characters * MAX_TOKENS_PER_CHARACTER + MAX_TOKENS_AROUND;
}

/** The most seconds that speaking the text may take. */
export function maxSpeechSeconds({ characters, speed = 1 }: SpeechOptions): number {
  return Math.ceil(maxSpeechTokens(characters) / SPEECH_TOKENS_PER_SECOND / Math.min(speed, 1));
}

/** A route as far as speech depends on it. */
export interface SpeechRoute {
  readonly format: UpstreamFormatName;
  /** The formats that the upstream offers; those of its wire format by default. */
  readonly audioFormats?: readonly SpeechFormat[];
}

/**
 * @param reportsTokens whether to ask for the events that report usage, because the price depends on tokens
 * @throws ServiceError `bad_request` when the route cannot express the request
 */
export function buildSpeechRequest(
  speech: SpeechOptions,
  route: SpeechRoute,
  options: UpstreamOptions,
  reportsTokens: boolean,
): UpstreamRequest {
  const isNative = route.format === 'generate-content';
  const offered = route.audioFormats ?? (isNative ? UNCOMPRESSED_SPEECH_FORMATS : SPEECH_FORMATS);
  if (!offered.includes(speech.audioFormat)) {
    throw badRequest(`"response_format" must be one of: [${offered.join(' ')}]`);
  }
  return isNative ? buildNativeRequest(speech, options) : buildOpenAiRequest(speech, options, reportsTokens);
}

/** https://platform.openai.com/docs/api-reference/audio/createSpeech */
function buildOpenAiRequest(
  { text, voice, instructions, speed, audioFormat }: SpeechOptions,
  options: UpstreamOptions,
  reportsTokens: boolean,
): UpstreamRequest {
  const body = compact({
    model: options.model,
    input: text,
    voice,
    instructions,
    speed,
    response_format: audioFormat,
    stream_format: reportsTokens ? 'sse' : undefined,
  });
  return { path: '/audio/speech', headers: headersOf(options), body };
}

/**
 * Google's streams end early where whole answers are complete: https://github.com/googleapis/python-genai/issues/922
 *
 * @see https://ai.google.dev/gemini-api/docs/speech-generation
 */
function buildNativeRequest({ text, voice, instructions, speed, asEvents }: SpeechOptions, options: UpstreamOptions) {
  if (typeof voice === 'object') throw badRequest('"voice" must be the name of a voice for this model');
  if (speed !== undefined && speed !== 1) throw badRequest('"speed" is not supported by this model');
  const said = instructions === undefined ? text : `${instructions}: ${text}`;
  return {
    ...addressOf({ stream: asEvents }, options),
    body: {
      contents: [{ role: 'user', parts: [{ text: said }] }],
      generationConfig: {
        responseModalities: ['AUDIO'],
        speechConfig: { voiceConfig: { prebuiltVoiceConfig: { voiceName: voice } } },
      },
    },
  };
}
