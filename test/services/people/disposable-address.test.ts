import { expect } from 'chai';
import { isDisposable } from '../../../services/people/disposable-address.ts';

const NONE = { rule: 'refuse', domains: new Set<string>(), except: new Set<string>() } as const;

describe('services/people/disposable-address', () => {
  it('finds domains of the list and their subdomains, in any case', () => {
    for (const domain of ['mailinator.com', 'Mailinator.com', 'a.b.mailinator.com'])
      expect(isDisposable(`anna@${domain}`, NONE)).to.equal(true);
  });

  it('accepts the large providers of mailboxes', () => {
    for (const domain of ['gmail.com', 'outlook.com', 'icloud.com', 'proton.me', 'qq.com', '163.com'])
      expect(isDisposable(`anna@${domain}`, NONE)).to.equal(false);
  });

  it('follows the domains that the operator adds and excepts', () => {
    const changed = { ...NONE, domains: new Set(['burner.example']), except: new Set(['mailinator.com']) };
    expect(isDisposable('anna@mx.burner.example', changed)).to.equal(true);
    expect(isDisposable('anna@mailinator.com', changed)).to.equal(false);
  });
});
