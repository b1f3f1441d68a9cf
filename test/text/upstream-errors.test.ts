import { expect } from 'chai';
import { FORMATS } from '../../text/formats.ts';
import type { ErrorCode } from '../../domain/errors.ts';
import type { UpstreamFault } from '../../domain/circuit.ts';

const BY_STATUS: readonly [number, ErrorCode, UpstreamFault | null][] = [
  [400, 'bad_request', null],
  [401, 'processing_unavailable', 'key_refused'],
  [402, 'processing_unavailable', 'key_refused'],
  [403, 'processing_unavailable', 'access_refused'],
  [404, 'processing_unavailable', 'model_unknown'],
  [408, 'processing_timeout', 'failed'],
  [413, 'bad_request', null],
  [422, 'bad_request', null],
  [429, 'rate_limit_exceeded', 'rate_limited'],
  [500, 'processing_failed', 'failed'],
  [502, 'processing_failed', 'failed'],
  [503, 'processing_unavailable', 'failed'],
  [504, 'processing_timeout', 'failed'],
  [529, 'processing_unavailable', 'failed'],
];

const BY_WORDS: readonly [keyof typeof FORMATS, number, object, UpstreamFault | null][] = [
  ['chat-completions', 429, { code: 'insufficient_quota', type: 'insufficient_quota' }, 'key_refused'],
  ['chat-completions', 403, { code: 'model_not_found', type: 'invalid_request_error' }, 'access_refused'],
  ['chat-completions', 400, { code: 'model_not_found', type: 'invalid_request_error' }, 'model_unknown'],
  ['responses', 400, { code: 'context_length_exceeded' }, null],
  ['messages', 400, { type: 'invalid_request_error', message: 'Your credit balance is too low.' }, 'key_refused'],
  ['messages', 529, { type: 'overloaded_error' }, 'failed'],
  ['generate-content', 400, { details: [{ reason: 'API_KEY_INVALID' }] }, 'key_refused'],
  ['generate-content', 400, { status: 'FAILED_PRECONDITION' }, 'key_refused'],
  ['generate-content', 429, { status: 'RESOURCE_EXHAUSTED' }, 'rate_limited'],
];

/** Refusals whose status and code tell less than their sentence, as users report them. */
const OF_THE_ACCOUNT: readonly [keyof typeof FORMATS, number, object][] = [
  [
    'messages',
    400,
    {
      type: 'invalid_request_error',
      message: 'You have reached your specified API usage limits. You will regain access on 2026-12-02 at 00:00 UTC.',
    },
  ],
  ['messages', 400, { type: 'invalid_request_error', message: 'This organization has been disabled.' }],
  ['messages', 429, { type: 'rate_limit_error', message: 'Usage credits are required for this model.' }],
  ['chat-completions', 400, { code: 'billing_hard_limit_reached', type: 'invalid_request_error' }],
  [
    'chat-completions',
    400,
    { code: 'Arrearage', message: 'Access denied, please make sure your account is in good standing.' },
  ],
  ['chat-completions', 429, { type: 'exceeded_current_quota_error', message: 'Your account is suspended.' }],
  ['chat-completions', 429, { code: '1113', message: 'Insufficient balance or no resource package. Please recharge.' }],
  ['responses', 400, { message: 'Your organization must be verified to stream this model.', param: 'stream' }],
];

const OF_MODERATION: readonly [keyof typeof FORMATS, number, object | string][] = [
  ['chat-completions', 403, 'Content violates usage guidelines. Team: 7, Failed check: SAFETY_CHECK_TYPE_BIO'],
  ['chat-completions', 400, { code: 'invalid_request_error', message: 'Content Exists Risk' }],
  ['chat-completions', 403, { message: 'The model requires moderation. Your input was flagged for "violence".' }],
  ['chat-completions', 422, { type: 'unknown', message: 'input new_sensitive (1026)' }],
  ['messages', 500, { type: 'api_error', message: "input new_sensitive, messages[2]'s content[1] image is sensitive" }],
  [
    'chat-completions',
    400,
    { code: '1301', message: '系统检测到输入或生成内容可能包含不安全或敏感内容，请您避免输入' },
  ],
  [
    'chat-completions',
    400,
    { code: 'DataInspectionFailed', message: 'Input text data may contain inappropriate content.' },
  ],
  ['chat-completions', 400, { code: 'InputTextSensitiveContentDetected', message: 'The request failed.' }],
  [
    'responses',
    400,
    {
      code: 'invalid_prompt',
      message: 'Invalid prompt: your prompt was flagged as potentially violating our usage policy.',
    },
  ],
  ['responses', 400, { code: 'cyber_policy', message: 'This request was blocked.' }],
];

describe('an error of an upstream', () => {
  for (const { name, upstream } of Object.values(FORMATS)) {
    it(`has the code of the contract and the side at fault by its status in ${name}`, () => {
      const read = BY_STATUS.map(([status]) => {
        const { code, fault } = upstream.parseError(status, null, 7);
        return [status, code, fault];
      });
      expect(read).to.deep.equal(BY_STATUS);
      expect(upstream.parseError(429, null, 7).retryAfterSeconds).to.equal(7);
    });

    it(`keeps its status and the upstream's own sentence in ${name}, wherever the sentence is`, () => {
      for (const body of [{ error: { message: 'No.' } }, { message: 'No.' }, { detail: 'No.' }, 'No.']) {
        expect(upstream.parseError(503, body)).to.include({ upstreamStatus: 503, vendorMessage: 'No.' });
      }
      for (const body of [null, [], { error: { message: 7 } }, 3]) {
        expect(upstream.parseError(503, body)).to.include({ vendorMessage: '' });
      }
    });
  }

  for (const [format, status, error, fault] of BY_WORDS) {
    it(`an error is ${fault ?? 'the fault of its request'} with ${status} and ${JSON.stringify(error)} in ${format}`, () => {
      // contract 7.2:30
      expect(FORMATS[format].upstream.parseError(status, { error }).fault).to.equal(fault);
    });
  }

  it('is the fault of the account that an upstream refuses, also as an invalid request or with a status of overload', () => {
    // contract 7.2:37
    for (const [format, status, error] of OF_THE_ACCOUNT) {
      const { code, fault } = FORMATS[format].upstream.parseError(status, { error });
      expect(code, JSON.stringify(error)).to.equal('processing_unavailable');
      expect(fault, JSON.stringify(error)).to.be.oneOf(['key_refused', 'access_refused']);
    }
  });

  it('is a refusal of moderation with any status and code', () => {
    // contract 7.2:31
    for (const [format, status, error] of OF_MODERATION) {
      const { code, fault } = FORMATS[format].upstream.parseError(status, { error });
      expect([code, fault], JSON.stringify(error)).to.deep.equal(['content_policy_violation', null]);
    }
  });

  it('does not count against the account if it quotes the words of a refusal from the request', () => {
    const quoted = 'Unsupported value: "This organization has been disabled." is not a model.';
    const { code, fault } = FORMATS['messages'].upstream.parseError(400, { error: { message: quoted } });
    expect([code, fault]).to.deep.equal(['bad_request', null]);
  });
});
