/** Estimates the input tokens of a request, for upstreams that do not report them. */
import type { AssistantPart, AudioFile, InputPart, TextRequest } from '../../text/canonical.ts';
import { COMPRESSED_BYTES_PER_SECOND } from '../../domain/speech-format.ts';
import { bytesPerSecond, pcmOfType, pcmOfWav } from '../../domain/wav.ts';
import { secondsToHold } from '../../text/voice/transcription.ts';
import { estimateTokens } from '../../text/token-estimate.ts';
import { partsOf } from '../../text/turns.ts';

/** Roles and separators. */
const TOKENS_PER_TURN = 4;
/** The cost of the largest image on the most expensive models. */
const TOKENS_PER_IMAGE = 1_600;
/** Vendors charge documents, audio and video by their content. Only the size is known here. */
const FILE_BYTES_PER_TOKEN = 100;
/** OpenAI counts 10, Google 32. */
const AUDIO_TOKENS_PER_SECOND = 10;

/** Returns a lazy estimate, since few requests need it. */
export function inputTokenEstimate(request: TextRequest): () => number {
  let tokens: number | undefined;
  return () => (tokens ??= estimateInputTokens(request));
}

export function estimateInputTokens(request: TextRequest): number {
  const { turns, tools, outputFormat, embeddings, transcription, rerank } = request;
  const texts: string[] = [];
  let otherTokens = embeddings?.tokenIdCount ?? turns.length * TOKENS_PER_TURN;
  if (transcription !== undefined) otherTokens += tokensOfFile(transcription.audio);
  if (rerank !== undefined) otherTokens += (rerank.documents.length - 1) * estimateTokens([rerank.query]);
  const take = (part: InputPart | AssistantPart): void => {
    if (part.type === 'text' || part.type === 'reasoning') texts.push(part.text);
    else if (part.type === 'tool-call') texts.push(part.name, part.arguments);
    else otherTokens += tokensOfAudio(part) ?? tokensOfMedium(part);
  };
  partsOf(turns).forEach(take);
  if (tools.length > 0) texts.push(JSON.stringify(tools));
  if (outputFormat !== undefined) texts.push(JSON.stringify(outputFormat));
  return Math.ceil(estimateTokens(texts) + otherTokens);
}

/** Estimates the part of the input tokens that is audio. */
export function estimateAudioTokens({ turns, transcription }: TextRequest): number {
  const inFile = transcription === undefined ? 0 : tokensOfFile(transcription.audio);
  return partsOf(turns).reduce((sum, part) => sum + (tokensOfAudio(part) ?? 0), inFile);
}

function tokensOfFile(audio: AudioFile): number {
  return secondsToHold(audio) * AUDIO_TOKENS_PER_SECOND;
}

function tokensOfMedium(part: InputPart | AssistantPart): number {
  const isSized = part.type === 'file' && part.source.kind === 'base64';
  return TOKENS_PER_IMAGE + (isSized ? part.source.data.length / FILE_BYTES_PER_TOKEN : 0);
}

/** For audio whose duration is not known: a minute. */
const TOKENS_OF_UNKNOWN_AUDIO = 60 * AUDIO_TOKENS_PER_SECOND;
const WAV_HEAD_LENGTH = 64;

/** Returns null for other parts. */
function tokensOfAudio(part: InputPart | AssistantPart): number | null {
  if (part.type !== 'audio' && part.type !== 'file') return null;
  const { mediaType = '', data } = part.type === 'audio' ? part : { data: undefined, ...part.source };
  if (part.type === 'file' && !mediaType.startsWith('audio/')) return null;
  if (data === undefined) return TOKENS_OF_UNKNOWN_AUDIO;
  return Math.ceil((Buffer.byteLength(data, 'base64') / rateOf(mediaType, data)) * AUDIO_TOKENS_PER_SECOND);
}

/** Bytes of a second. */
function rateOf(mediaType: string, data: string): number {
  if (/wav/.test(mediaType)) return bytesPerSecond(pcmOfWav(Buffer.from(data.slice(0, WAV_HEAD_LENGTH), 'base64')));
  return /^audio\/(?:l16|pcm)/i.test(mediaType) ? bytesPerSecond(pcmOfType(mediaType)) : COMPRESSED_BYTES_PER_SECOND;
}
