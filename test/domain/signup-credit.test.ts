import { expect } from 'chai';
import { decideSignupCredit, type SignupCreditFacts } from '../../domain/signup-credit.ts';

const LIMITS = { perNetworkPerDay: 2, perDay: 5, afterFirstPayment: false };
const NOBODY: SignupCreditFacts = { isDisposable: false, isAddressUsed: false, grantsOfNetwork: 0, grantsOfDay: 0 };

describe('domain/signup-credit', () => {
  const CASES = [
    ['grants the first credit', {}, 'granted'],
    ['grants the last credit of a network and a day', { grantsOfNetwork: 1, grantsOfDay: 4 }, 'granted'],
    ['refuses one more in the network', { grantsOfNetwork: 2, grantsOfDay: 2 }, 'network_limit'],
    ['refuses one more in the day', { grantsOfDay: 5 }, 'daily_limit'],
    ['refuses a second one of a mailbox, whatever the limits', { isAddressUsed: true, grantsOfDay: 9 }, 'address_used'],
    ['refuses a disposable address first', { isDisposable: true, isAddressUsed: true }, 'disposable_address'],
  ] as const;
  for (const [what, facts, outcome] of CASES) {
    it(what, () => expect(decideSignupCredit({ ...NOBODY, ...facts }, LIMITS)).to.equal(outcome));
  }

  it('lets credit wait for the first payment only if nothing else refuses it', () => {
    const limits = { ...LIMITS, afterFirstPayment: true };
    expect(decideSignupCredit(NOBODY, limits)).to.equal('awaits_payment');
    expect(decideSignupCredit({ ...NOBODY, isAddressUsed: true }, limits)).to.equal('address_used');
  });
});
