import { expect } from 'chai';
import {
  ERRORS,
  type ErrorCode,
  ServiceError,
  TASK_ERROR_CODES,
  badRequest,
  isTaskErrorCode,
} from '../../domain/errors.ts';

/** The table itself is compared with `docs/contract.md`: test/docs/contract.test.ts. */
describe('errors', () => {
  for (const code of Object.keys(ERRORS) as ErrorCode[]) {
    it(`of the code ${code} has its status and says whether to retry`, () => {
      const { status, retryable } = ERRORS[code];
      const error = new ServiceError(code, 'A sentence');
      expect(error).to.include({ code, message: 'A sentence', status: status ?? 500, retryable });
      expect(error.retryAfterSeconds).to.equal(undefined);
      expect(error.headers).to.deep.equal({});
    });
  }

  it('never answers 502 or 504', () => {
    expect(Object.values(ERRORS).map(({ status }) => status))
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
    expect(Object.keys(ERRORS).filter(isTaskErrorCode)).to.have.length(6);
    expect(isTaskErrorCode('toString')).to.equal(false);
  });
});
