import { expect } from 'chai';
import { ERRORS, ServiceError, TASK_ERROR_CODES, badRequest, isTaskErrorCode } from '../../domain/errors.ts';

/** test/docs/contract.test.ts compares the table with `docs/contract.md`. */
describe('errors', () => {
  it('have the status of their code, and state whether to retry', () => {
    // contract 2.3:3 7.4:1 7.4:4
    const error = new ServiceError('processing_timeout', 'A sentence');
    expect(error).to.include({ code: 'processing_timeout', message: 'A sentence', status: 503, retryable: true });
    expect(error.retryAfterSeconds).to.equal(undefined);
    expect(error.headers).to.deep.equal({});
  });

  it('never have the status 502 or 504', () => {
    // contract 7.2:26
    expect(Object.values(ERRORS).map(({ status }) => status))
      .to.not.include(502)
      .and.not.include(504);
  });

  it('have every field of a response besides the code', () => {
    // contract 2.3:2 2.3:3 2.3:5 7.2:13
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

  it('are bad requests when created from a sentence', () => {
    expect(badRequest('"x" is required')).to.include({ code: 'bad_request', status: 400, message: '"x" is required' });
  });

  it('include the codes that a task can fail with', () => {
    // contract 2.1:21 3:12
    expect(TASK_ERROR_CODES.every(isTaskErrorCode)).to.equal(true);
    expect(['not_found', 'toString'].some(isTaskErrorCode)).to.equal(false);
  });
});
