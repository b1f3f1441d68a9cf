import { expect } from 'chai';
import { usagePeriod } from '../../../../services/input/usage-period.ts';
import { ServiceError } from '../../../../domain/errors.ts';

describe('the period of a usage report', () => {
  it('is by default the last 30 days, with the whole first day', () => {
    // contract 4.9:3
    const to = new Date('2026-10-31T12:34:56Z');
    expect(usagePeriod({ from: undefined, to })).to.deep.equal({ from: new Date('2026-10-02T00:00:00Z'), to });
  });

  it('the period is at most 92 days', () => {
    // contract 4.9:3
    const from = new Date('2026-01-01T00:00:00Z');
    const to = new Date('2026-04-03T00:00:00Z');
    expect(usagePeriod({ from, to })).to.deep.equal({ from, to });
    const beyond = new Date(to.getTime() + 1);
    expect(() => usagePeriod({ from, to: beyond }))
      .to.throw(ServiceError, '92 days')
      .with.property('code', 'bad_request');
  });
});
