import { expect } from 'chai';
import { FORMATS } from '../../text/formats.ts';
import type { UpstreamFault } from '../../text/upstream-errors.ts';

const BY_STATUS: readonly [number, UpstreamFault | null][] = [
  [400, null],
  [401, 'key_refused'],
  [402, 'key_refused'],
  [403, 'access_refused'],
  [404, 'model_unknown'],
  [413, null],
  [422, null],
  [429, 'rate_limited'],
  [500, 'failed'],
  [502, 'failed'],
  [503, 'failed'],
  [504, 'failed'],
  [529, 'failed'],
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
    it(`shows the side at fault by its status in ${name}`, () => {
      const faults = BY_STATUS.map(([status]) => [status, upstream.parseError(status, null).fault]);
      expect(faults).to.deep.equal(BY_STATUS);
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
