import { expect } from 'chai';
import { describeError } from '../../../bin/parts/describe-error.ts';
import { ServiceError } from '../../../domain/errors.ts';
import { OperatorError } from '../../../domain/operator-error.ts';

describe('the explanation of an error', () => {
  it('repeats the message of an error that was written for people', () => {
    expect(describeError(new OperatorError('Set it.'))).to.equal('Set it.');
    expect(describeError(new ServiceError('processing_unavailable', 'Try again.'))).to.equal('Try again.');
  });

  it('names every address that did not answer', () => {
    const errors = ['::1', '127.0.0.1'].map((address) =>
      Object.assign(new Error(`connect ECONNREFUSED ${address}:5432`), { code: 'ECONNREFUSED' }),
    );
    expect(describeError(Object.assign(new AggregateError(errors), { code: 'ECONNREFUSED' }))).to.equal(
      'PostgreSQL does not answer (connect ECONNREFUSED ::1:5432; connect ECONNREFUSED 127.0.0.1:5432). Check DATABASE_URL.',
    );
  });

  it('shows the stack trace of a bug', () => {
    expect(describeError(new TypeError('x is not a function'))).to.match(
      /^This is a bug in Genway:\nTypeError: x is not a function\n {4}at /,
    );
  });
});
