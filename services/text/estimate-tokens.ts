/** Estimates the input tokens of a request, for upstreams that do not report them. */
import type { AnswerPart, InputPart, TextRequest } from '../../text/canonical.ts';
import { secondsToHold } from '../../text/voice/transcription.ts';
import { estimateTokens } from '../../text/token-estimate.ts';
import { partsOf } from '../../text/turns.ts';

/** Roles and separators. */
const TOKENS_PER_TURN = 4;
/** The cost of the largest image on the most expensive models. */
const TOKENS_PER_IMAGE = 1_600;
/** Vendors charge documents, audio and video by their content. Only the size is known here. */
const FILE_BYTES_PER_TOKEN = 100;
/** OpenAI counts 10 for transcriptions. */
const AUDIO_TOKENS_PER_SECOND = 10;

/** Returns a lazy estimate, since few requests need it. */
export function inputTokenEstimate(request: TextRequest): () => number {
  let tokens: number | undefined;
  return () => (tokens ??= estimateInputTokens(request));
}

export function estimateInputTokens({ turns, tools, outputFormat, embeddings, transcription }: TextRequest): number {
  const texts: string[] = [];
  let otherTokens = embeddings?.tokenIdCount ?? turns.length * TOKENS_PER_TURN;
  if (transcription !== undefined) otherTokens += secondsToHold(transcription.audio) * AUDIO_TOKENS_PER_SECOND;
  const take = (part: InputPart | AnswerPart): void => {
    if (part.type === 'text' || part.type === 'reasoning') texts.push(part.text);
    else if (part.type === 'tool-call') texts.push(part.name, part.arguments);
    else {
      otherTokens += TOKENS_PER_IMAGE;
      const isSized = part.type === 'file' && part.source.kind === 'base64';
      if (isSized) otherTokens += part.source.data.length / FILE_BYTES_PER_TOKEN;
    }
  };
  partsOf(turns).forEach(take);
  if (tools.length > 0) texts.push(JSON.stringify(tools));
  if (outputFormat !== undefined) texts.push(JSON.stringify(outputFormat));
  return Math.ceil(estimateTokens(texts) + otherTokens);
}
