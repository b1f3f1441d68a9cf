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
});
