/** The refusals of prompts that are too long: read from every vendor, and written for every client. */
import { expect } from 'chai';
import { REQUEST_FORMAT_NAMES } from '../../domain/wire-format-name.ts';
import { describeOverflow, readOverflow, UNCOUNTED_OVERFLOW } from '../../text/context-overflow.ts';
import { FORMATS } from '../../text/formats.ts';
import { encodeEvent } from '../../text/sse.ts';
import { UpstreamError } from '../../text/upstream-errors.ts';
import { answerOfStream } from './support.ts';

/** Vendors' sentences, with the tokens of the input, of the output and of the limit in them. */
const REFUSALS: readonly (readonly [string, number | null, number | null, number | null])[] = [
  [
    "This model's maximum context length is 262144 tokens. However, your messages resulted in 300000 tokens. Please reduce the length of the messages.",
    300_000,
    null,
    262_144,
  ],
  [
    "This model's maximum context length is 131072 tokens. However, you requested 141072 tokens (131000 in the messages, 10072 in the completion). Please reduce the length of the messages or completion.",
    131_000,
    10_072,
    131_072,
  ],
  [
    "Requested token count exceeds the model's maximum context length of 262144 tokens. You requested a total of 262462 tokens: 230462 tokens from the input messages and 32000 tokens for the completion.",
    230_462,
    32_000,
    262_144,
  ],
  ['Your input exceeds the context window of this model. Please adjust your input and try again.', null, null, null],
  ['prompt is too long: 208380 tokens > 200000 maximum', 208_380, null, 200_000],
  [
    'input length and `max_tokens` exceed context limit: 190000 + 32000 > 200000, decrease input length or `max_tokens` and try again',
    190_000,
    32_000,
    200_000,
  ],
  [
    'The input token count (1,200,000) exceeds the maximum number of tokens allowed (1,048,576).',
    1_200_000,
    null,
    1_048_576,
  ],
  ['Input is too long for requested model.', null, null, null],
  ["This model's maximum prompt length is 131072 but the request contains 537812 tokens.", 537_812, null, 131_072],
  ['Invalid request: Your request exceeded model token limit: 262144', null, null, 262_144],
  ['<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 129024]', null, null, 129_024],
  ['Prompt exceeds max length', null, null, null],
  ['invalid params, context window exceeds limit (2013)', null, null, 2_013],
  [
    'Prompt contains 65673 tokens and 0 draft tokens, too large for model with 40960 maximum context length',
    65_673,
    null,
    40_960,
  ],
  [
    "You passed 99073 input tokens and requested 32000 output tokens. However, the model's context length is only 131072 tokens, resulting in a maximum input length of 99072 tokens. Please reduce the length of the input prompt.",
    99_073,
    32_000,
    131_072,
  ],
  ['prompt token count of 150000 exceeds the limit of 128000', 150_000, null, 128_000],
  ['Total tokens of image and text exceed max message tokens', null, null, null],
  ['tokens in request more than max tokens allowed', null, null, null],
  ['Input token length too long', null, null, null],
  ['the request exceeds the available context size. try increasing the context size', null, null, null],
];

const OTHERS = [
  'max_tokens: 300000 > 128000, which is the maximum allowed number of output tokens for this model',
  'Invalid max_tokens value, the valid range of max_tokens is [1, 8192]',
  'Rate limit reached for tokens per minute: Limit 30000, Requested 40000.',
  "Unsupported parameter: 'temperature' is not supported with this model.",
  'Request exceeds the maximum size',
  '',
];

describe('a prompt that does not fit the context', () => {
  for (const [message, inputTokens, outputTokens, limitTokens] of REFUSALS) {
    it(`is recognised by its sentence: ${message.slice(0, 60)}`, () => {
      expect(readOverflow(message)).to.deep.equal({ inputTokens, outputTokens, limitTokens });
    });
  }

  it('is not read into other refusals', () => {
    for (const message of OTHERS) expect(readOverflow(message), message).to.equal(null);
  });

  it('is recognised in the errors of each format, and not in failures of credentials or load', () => {
    for (const { name, upstream } of Object.values(FORMATS)) {
      const error = { error: { message: 'prompt is too long: 9 tokens > 8 maximum' } };
      for (const status of [400, 413, 422, 500]) {
        const { overflow, fault, code } = upstream.parseError(status, error);
        expect({ overflow, fault, code }, `${name} ${status}`).to.deep.equal({
          overflow: { inputTokens: 9, outputTokens: null, limitTokens: 8 },
          fault: null,
          code: 'bad_request',
        });
      }
      for (const status of [401, 429, 503]) expect(upstream.parseError(status, error).overflow).to.equal(null);
    }
  });

  it('is recognised inside a stream, also if the event has only the sentence', () => {
    const sentence = 'request (2358 tokens) exceeds the available context size (2048 tokens), try increasing it';
    for (const format of [FORMATS['chat-completions'], FORMATS.responses, FORMATS.messages]) {
      for (const error of [sentence, { message: sentence }]) {
        const failed = (): unknown => answerOfStream(format, encodeEvent(JSON.stringify({ error }), 'error'));
        expect(failed, format.name).to.throw(UpstreamError).with.nested.property('overflow.limitTokens', 2048);
      }
    }
  });

  it('has for each client the words that its agents search for', () => {
    const known = { estimateInput: () => 5_000, limit: 1_000 };
    const words = REQUEST_FORMAT_NAMES.map((format) => [format, describeOverflow(format, UNCOUNTED_OVERFLOW, known)]);
    const said: Readonly<Record<string, RegExp>> = {
      'chat-completions':
        /maximum context length is 1000 tokens.*resulted in 5000 tokens.*reduce the length of the messages/,
      responses: /exceeds the context window of this model \(5000 tokens > 1000 maximum\)/,
      messages: /^prompt is too long: 5000 tokens > 1000 maximum/,
      'generate-content': /input token count \(5000\) exceeds the maximum number of tokens allowed \(1000\)/,
    };
    for (const [format = '', text] of words)
      expect(text).to.match(said[format] ?? /maximum context length is 1000 tokens/);
  });

  it('has no number that contradicts it, and names the output bound if the prompt alone fits', () => {
    const known = { estimateInput: () => 10, limit: 1_000 };
    const bounded = { inputTokens: 900, outputTokens: 200, limitTokens: 1_000 };
    expect(describeOverflow('messages', UNCOUNTED_OVERFLOW, known)).to.match(/^prompt is too long: the context window/);
    expect(describeOverflow('messages', bounded, known)).to.match(
      /^input length and `max_tokens` exceed context limit: 900 \+ 200 > 1000,/,
    );
    expect(describeOverflow('chat-completions', bounded, known)).to.match(
      /1100 tokens \(900 in the messages, 200 in the completion\)/,
    );
  });
});
