import { expect } from 'chai';
import { ERRORS, ServiceError, TASK_ERROR_CODES, badRequest, isTaskErrorCode } from '../../domain/errors.ts';

/** Specification section 7.2, entered by hand; a status of null is not sent. */
const CONTRACT = [
  ['bad_request', 400, false],
  ['content_policy_violation', 400, false],
  ['missing_api_key', 401, false],
  ['invalid_api_key', 401, false],
  ['insufficient_credits', 402, false],
  ['forbidden', 403, false],
  ['access_denied', 403, false],
  ['not_found', 404, false],
  ['idempotency_conflict', 409, false],
  ['read_request_body_failed', 413, false],
  ['rate_limit_exceeded', 429, true],
  ['user_concurrency_exceeded', 429, true],
  ['internal_error', 500, true],
  ['processing_unavailable', 503, true],
  ['processing_timeout', 503, true],
  ['processing_failed', 503, true],
  ['result_transfer_failed', 503, true],
  ['realtime_disabled', 503, false],
  ['realtime_capacity_unavailable', 503, true],
  ['realtime_session_expired', 410, false],
  ['origin_not_allowed', 403, false],
  ['invalid_client_secret', 401, false],
  ['transport_not_allowed', 400, false],
  ['invalid_signature', null, false],
] as const;

describe('errors', () => {
  it('knows exactly the codes of the contract', () => {
    expect(Object.keys(ERRORS)).to.deep.equal(CONTRACT.map(([code]) => code));
  });

  for (const [code, status, retryable] of CONTRACT) {
    it(`${code} has status ${status} and is ${retryable ? '' : 'not '}retryable`, () => {
      expect(ERRORS[code]).to.deep.equal({ status, retryable });
      const error = new ServiceError(code, 'A sentence');
      expect(error).to.include({ code, message: 'A sentence', status: status ?? 500, retryable });
      expect(error.retryAfterSeconds).to.equal(undefined);
      expect(error.headers).to.deep.equal({});
    });
  }

  it('never answers 502 or 504', () => {
    expect(CONTRACT.map(([, status]) => status))
      .to.not.include(502)
      .and.not.include(504);
  });

  it('carries what a response needs beside the code', () => {
    const cause = new Error('below');
    const error = new ServiceError('not_found', 'No', {
      status: 405,
      headers: { Allow: 'GET' },
      retryAfterSeconds: 3,
      cause,
    });
    expect(error).to.include({ status: 405, retryAfterSeconds: 3, cause });
    expect(error.headers).to.deep.equal({ Allow: 'GET' });
    expect(error).to.be.instanceOf(Error);
  });

  it('makes a bad request of a sentence', () => {
    expect(badRequest('"x" is required')).to.include({ code: 'bad_request', status: 400, message: '"x" is required' });
  });

  it('lets a failed task carry six of the codes only', () => {
    expect(TASK_ERROR_CODES).to.have.members([
      'content_policy_violation',
      'bad_request',
      'processing_unavailable',
      'processing_timeout',
      'processing_failed',
      'result_transfer_failed',
    ]);
    expect(CONTRACT.filter(([code]) => isTaskErrorCode(code))).to.have.length(6);
    expect(isTaskErrorCode('toString')).to.equal(false);
  });
});
