import { expect } from 'chai';
import { parseOperatorFile } from '../../catalogue/operator-file.ts';
import { checkSite, OWN_SITE } from '../../catalogue/site.ts';
import { parseUsd } from '../../domain/money.ts';

const check = (text: string) => checkSite(parseOperatorFile(`name: Acme\n${text}`, 'site.yaml', () => 'from outside'));

const CREDIT = 'usd: "1.5", per_network_per_day: 2, per_day: 100';

describe('the credit of people who register, in the file about the site', () => {
  it('has an amount, its limits and its condition', () => {
    const { value } = check(`signup_credit: { ${CREDIT}, after_first_payment: true }`);
    expect(value?.signupCredit).to.deep.equal({
      amount: parseUsd('1.5'),
      perNetworkPerDay: 2,
      perDay: 100,
      afterFirstPayment: true,
    });
  });

  it('does not exist by default, while disposable addresses are refused', () => {
    const { value } = check('');
    expect(value?.signupCredit).to.equal(null);
    expect(value?.captcha).to.equal(null);
    expect(value?.disposable).to.deep.equal(OWN_SITE.disposable);
    expect(OWN_SITE.disposable.rule).to.equal('refuse');
  });

  it('has the operator’s own list of domains, and reads the secret of the captcha from outside', () => {
    const { value } = check(`
disposable_addresses: { rule: no_credit, domains: [burner.example], except: [mailinator.com] }
captcha: { provider: hcaptcha, site_key: a-key, secret: "\${CAPTCHA_SECRET}" }`);
    expect(value?.disposable).to.deep.equal({
      rule: 'no_credit',
      domains: new Set(['burner.example']),
      except: new Set(['mailinator.com']),
    });
    expect(value?.captcha).to.deep.equal({ provider: 'hcaptcha', siteKey: 'a-key', secret: 'from outside' });
  });

  for (const [what, text, message] of [
    ['a limit for each day', 'signup_credit: { usd: "1", per_network_per_day: 1 }', 'per_day'],
    ['a limit for each network', 'signup_credit: { usd: "1", per_day: 1 }', 'per_network_per_day'],
    ['an amount above zero', `signup_credit: { ${CREDIT.replace('1.5', '0')} }`, 'more than 0'],
    ['domains in lower case', 'disposable_addresses: { domains: [Burner.example] }', 'domains in lower case'],
    ['a known captcha', 'captcha: { provider: recaptcha, site_key: a, secret: b }', 'turnstile'],
  ] as const) {
    it(`needs ${what}`, () => {
      const { value, findings } = check(text);
      expect(value).to.equal(null);
      expect(findings.map((finding) => finding.message).join()).to.contain(message);
    });
  }
});
