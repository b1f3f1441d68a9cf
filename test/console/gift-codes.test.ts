import { expect } from 'chai';
import { newId } from '../../domain/ids.ts';
import { parseUsd } from '../../domain/money.ts';
import { useAccount, useTestConsole, useVisitor } from '../support/console.ts';
import { reloadAccount } from '../support/factories.ts';

const GIFTS = '/console/staff/gift-codes';
const TERMS = {
  label: 'Spring fair',
  kind: 'funds',
  amount_usd: '10',
  count: '2',
  expires_at: '2099-01-01T00:00',
  credit_days: '',
  once_per: 'person',
};

describe('gift codes in the console', () => {
  const app = useTestConsole({ settings: { secondApprovalAbove: parseUsd(50) } });
  const ada = useVisitor(app, () => ({ email: 'ada@example.com', staff_role: 'finance' }));
  const bob = useVisitor(app, () => ({ email: 'bob@example.com', staff_role: 'finance' }));
  const owned = useAccount(app);
  const customer = useVisitor(app, () => ({
    email: 'carl@example.com',
    account_id: owned.accountId,
    member_role: 'owner',
  }));

  /** @returns the page with the codes, which the browser opens again after a reload */
  async function issue(terms: Partial<typeof TERMS> = {}): Promise<string> {
    const fields = { form_id: newId('form'), ...TERMS, ...terms };
    const sent = await ada.send(GIFTS, fields);
    expect(sent.status).to.equal(200);
    expect(codesIn((await ada.send(GIFTS, fields)).text)).to.deep.equal(codesIn(sent.text));
    return sent.text;
  }

  const codesIn = (page: string): readonly string[] => [...new Set(page.match(/\b(?:[0-9A-Z]{5}-){4}[0-9A-Z]{5}\b/g))];

  async function batchPath(): Promise<string> {
    const [id] = await app.database('gift_batches').orderBy('id', 'desc').limit(1).pluck<string[]>('id');
    return `${GIFTS}/${id}`;
  }

  it('the codes are shown once and as a file, redeemed by a member, and listed with their sums', async () => {
    const { accountId } = owned;
    const page = await issue();
    const codes = codesIn(page);
    expect(codes).to.have.length(2);
    const [, file = ''] = /href="data:text\/csv;charset=utf-8;base64,([^"]+)" download="gib_\w+\.csv"/.exec(page) ?? [];
    expect(Buffer.from(file, 'base64').toString()).to.equal(
      [
        'code,amount_usd,kind,expires_at,label',
        ...codes.map((code) => `${code},10,funds,2099-01-01 00:00:00,Spring fair`),
      ]
        .map((line) => `${line}\r\n`)
        .join(''),
    );
    const billing = `/console/accounts/${accountId}/billing`;
    expect((await customer.get(billing)).text).to.include(`action="${billing}/codes"`);
    const wrong = await customer.send(`${billing}/codes`, { code: 'AAAAA-AAAAA' });
    expect(wrong.text).to.include('The code is wrong, or can no longer be redeemed.');
    const redeemed = await customer.send(`${billing}/codes`, { code: codes[0] ?? '' });
    expect(redeemed.status).to.equal(303);
    expect((await reloadAccount(app.database, { id: accountId })).fundedAvailable).to.equal(parseUsd(10));
    const second = await customer.send(`${billing}/codes`, { code: codes[1] ?? '' });
    expect(second.text).to.include('Only one such code can be redeemed');
    const path = await batchPath();
    expect((await bob.get(path)).text)
      .to.include(accountId)
      .and.include('$20.00')
      .and.not.include(codes[1]);
    expect((await bob.send(`${path}/withdraw`, { reason: 'lost' })).status).to.equal(303);
    expect((await bob.get(path)).text)
      .to.include('Withdrawn')
      .and.include('bob@example.com');
  });

  it('work after the approval of a second person above the amount of dual control', async () => {
    const page = await issue({ count: '10', once_per: '' });
    expect(page).to.include('A second person must approve the batch');
    const path = await batchPath();
    expect((await ada.get(path)).text).not.to.include(`${path}/approve`);
    expect((await ada.send(`${path}/approve`)).status).to.equal(403);
    expect((await bob.get(path)).text).to.include(`${path}/approve`);
    expect((await bob.send(`${path}/approve`)).status).to.equal(303);
    expect((await bob.get(path)).text)
      .to.include('bob@example.com')
      .and.not.include(`${path}/approve`);
  });

  it('refuse wrong terms at their fields', async () => {
    for (const [changes, fault] of [
      [{ kind: 'promo_credit' }, 'Enter the days for promo credit'],
      [{ count: '1001' }, 'Enter 1,000 or less.'],
      [{ count: 'many' }, 'Enter a number.'],
    ] as const) {
      const { text } = await ada.send(GIFTS, { ...TERMS, ...changes });
      expect(text, fault).to.include(fault);
    }
  });
});
