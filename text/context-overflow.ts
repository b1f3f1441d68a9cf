/**
 * Prompts that do not fit a model's context. Agents recognise the refusal by its words, shorten the conversation and go
 * on, so every vendor's refusal becomes the one that clients of the format know.
 */
import type { RequestFormatName } from '../domain/wire-format-name.ts';

/** The tokens of a refused request; null where the upstream does not report them. */
export interface ContextOverflow {
  readonly inputTokens: number | null;
  /** The output bound, where the upstream counts it. */
  readonly outputTokens: number | null;
  readonly limitTokens: number | null;
}

export const UNCOUNTED_OVERFLOW: ContextOverflow = { inputTokens: null, outputTokens: null, limitTokens: null };

/** The code of the refusal in the widely used formats; contract 7.2 has no such code. */
export const OVERFLOW_CODE = 'context_length_exceeded';

/** The rest of a longer message quotes the request. */
const MAX_READ = 1_000;

const SENTENCES: readonly RegExp[] = [
  /\b(?:prompt|input) (?:is|was) too long\b|\bprompt exceeds max(?:imum)? length\b/i,
  /\bcontext[ _-](?:length|window|size|limit)s?\b.*(?:\bexceed|\bhowever\b|\btoo (?:long|large)\b|\bgreater\b|\blarger\b)/is,
  /(?:\bexceed|\bhowever\b|\btoo (?:long|large)\b|\bgreater\b|\blarger\b).*\bcontext[ _-](?:length|window|size|limit)s?\b/is,
  /\b(?:input|prompt) token count\b.*\bexceeds\b/is,
  /\binput token length too long\b|\btokens in request more than max tokens allowed\b|\bexceed max message tokens\b/i,
  /\bmaximum prompt length is\b|\bexceeded model token limit\b|\brange of input length should be\b/i,
];

const NUMBERS = {
  limit: [
    /\d tokens? > (\d+)/i,
    /\d \+ \d+ > (\d+)/,
    /\bcontext[ _-](?:length|window|size|limit)s?\D{0,24}?(\d+)/i,
    /\b(?:maximum number of tokens allowed|exceeds the limit of)\D{0,4}(\d+)/i,
    /\b(\d+) maximum context length\b/i,
    /\b(?:maximum prompt length is|token limit:?) (\d+)/i,
    /\binput length should be \[\d+, ?(\d+)\]/i,
  ],
  input: [
    /(?<!\d)(\d+) tokens? > \d/i,
    /(?<!\d)(\d+) \+ \d+ > \d/,
    /\b(\d+)(?: tokens)? (?:in|from) the (?:input messages|messages|prompt|input)\b/i,
    /\b(?:input|prompt) token count\D{0,4}(\d+)/i,
    /\bpassed (\d+) input tokens\b/i,
    /\b(?:resulted in|request contains|prompt contains|requested|you requested a total of) (?:about )?(\d+)/i,
  ],
  output: [
    /\d \+ (\d+) > \d/,
    /\b(\d+)(?: tokens)? (?:in|for) the completion\b/i,
    /\brequested (\d+) output tokens\b/i,
  ],
} as const;

/** Reads an upstream's refusal. @returns null if the message is about anything else */
export function readOverflow(message: string): ContextOverflow | null {
  const read = message.slice(0, MAX_READ).replaceAll(/(\d),(?=\d{3})/g, '$1');
  if (!SENTENCES.some((sentence) => sentence.test(read))) return null;
  const find = (patterns: readonly RegExp[]): number | null => {
    const found = patterns.map((pattern) => pattern.exec(read)?.[1]).find((digits) => digits !== undefined);
    const count = Number(found);
    return Number.isSafeInteger(count) ? count : null;
  };
  return { inputTokens: find(NUMBERS.input), outputTokens: find(NUMBERS.output), limitTokens: find(NUMBERS.limit) };
}

/** The gateway's own facts about a refused request. */
export interface KnownTokens {
  readonly estimateInput: () => number;
  readonly limit: number | null;
}

/** The message for a client, in the words by which clients of its format recognise the refusal. */
export function describeOverflow(format: RequestFormatName, overflow: ContextOverflow, known: KnownTokens): string {
  const limit = overflow.limitTokens ?? known.limit;
  const input = overflow.inputTokens ?? known.estimateInput();
  const { outputTokens: output } = overflow;
  if (limit !== null && input > limit) return WORDS[format].counted(input, limit);
  if (limit !== null && output !== null && input + output > limit)
    return WORDS[format].withOutput(input, output, limit);
  return WORDS[format].uncounted;
}

interface Words {
  readonly counted: (input: number, limit: number) => string;
  /** For a prompt that fits alone, but not together with the output bound. */
  readonly withOutput: (input: number, output: number, limit: number) => string;
  readonly uncounted: string;
}

const CHAT_WORDS: Words = {
  counted: (input, limit) =>
    `This model's maximum context length is ${limit} tokens. However, your messages resulted in ${input} tokens. Please reduce the length of the messages.`,
  withOutput: (input, output, limit) =>
    `This model's maximum context length is ${limit} tokens. However, you requested ${input + output} tokens (${input} in the messages, ${output} in the completion). Please reduce the length of the messages or completion.`,
  uncounted: "The messages exceed this model's maximum context length. Please reduce the length of the messages.",
};

const WORDS: Readonly<Record<RequestFormatName, Words>> = {
  'chat-completions': CHAT_WORDS,
  embeddings: CHAT_WORDS,
  rerank: CHAT_WORDS,
  speech: CHAT_WORDS,
  transcriptions: CHAT_WORDS,
  translations: CHAT_WORDS,
  realtime: CHAT_WORDS,
  responses: {
    counted: (input, limit) =>
      `Your input exceeds the context window of this model (${input} tokens > ${limit} maximum). Please adjust your input and try again.`,
    withOutput: (input, output, limit) =>
      `Your input and \`max_output_tokens\` exceed the context window of this model (${input} + ${output} > ${limit}). Please adjust your input and try again.`,
    uncounted: 'Your input exceeds the context window of this model. Please adjust your input and try again.',
  },
  messages: {
    counted: (input, limit) => `prompt is too long: ${input} tokens > ${limit} maximum. Shorten the conversation.`,
    withOutput: (input, output, limit) =>
      `input length and \`max_tokens\` exceed context limit: ${input} + ${output} > ${limit}, decrease input length or \`max_tokens\` and try again.`,
    uncounted: 'prompt is too long: the context window of the model is exceeded. Shorten the conversation.',
  },
  'generate-content': {
    counted: (input, limit) =>
      `The input token count (${input}) exceeds the maximum number of tokens allowed (${limit}). Shorten the contents.`,
    withOutput: (input, output, limit) =>
      `The input token count (${input}) and maxOutputTokens (${output}) exceed the maximum number of tokens allowed (${limit}). Reduce either.`,
    uncounted: 'The input token count exceeds the maximum number of tokens allowed. Shorten the contents.',
  },
};
