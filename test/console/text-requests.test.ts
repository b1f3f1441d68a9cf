import { expect } from 'chai';
import { useAccount, useTestConsole, useVisitor } from '../support/console.ts';
import { createTextRequestRow, keyOf, type TestCaller } from '../support/factories.ts';

describe('the text requests of an account', () => {
  const app = useTestConsole();
  const customer = useAccount(app, { key: { name: 'for the shop' } });
  const member = useVisitor(app, () => ({ email: 'member@example.com', account_id: customer.accountId }));
  let ids: readonly string[];
  let theirs: string;
  let path: string;

  before(async () => {
    const other = await app.createAccount();
    const requestOf = async (caller: TestCaller) => (await createTextRequestRow(app.database, keyOf(caller))).id;
    ids = [await requestOf(customer), await requestOf(customer)];
    theirs = await requestOf(other);
    path = `/console/accounts/${customer.accountId}/usage/requests`;
  });

  it('are listed with status, key, tokens, charge and latency, each with a link to its page', async () => {
    const { text } = await member.get(path);
    for (const id of ids) expect(text).to.include(`href="${path}/${id}"`);
    expect(text).to.include('for the shop').and.include('1,234').and.include('Succeeded').and.not.include(theirs);
    const one = await member.get(`${path}/${ids[0]}`);
    expect(one.text).to.include('Total duration').and.include('for the shop').and.include('Request id');
  });

  for (const [query, rows] of [
    ['status=failed', 0],
    ['status=succeeded&model=gpt-test', 2],
    ['to=2020-01-01', 0],
    ['key=nonsense', 2],
    ['model=vidone', 0],
  ] as const) {
    it(`are filtered by ${query}, and so is their file`, async () => {
      const { text } = await member.get(`${path}?${query}`);
      expect(text.match(/<th scope="row">/g) ?? []).to.have.length(rows);
      const file = await member.get(`${path}/export?format=jsonl&${query}`);
      expect(file.text.split('\n')).to.have.length(rows + 1);
    });
  }

  it('have the columns that the reader chooses, in the table and in CSV', async () => {
    const query = 'columns=id&columns=charged_usd&columns=request_id&columns=nonsense';
    const { text } = await member.get(`${path}?${query}&status=succeeded`);
    const titles = Array.from(text.matchAll(/<th scope="col"[^>]*>([^<]*)</g), ([, title]) => title);
    expect(titles).to.deep.equal(['Text request', 'Charged', 'Request id']);
    expect(text).to.include('<input type="hidden" name="status" value="succeeded"');
    expect(text).to.include(
      `/export?${query}&amp;status=succeeded&amp;format=csv`.replaceAll('&columns', '&amp;columns'),
    );
    const file = await member.get(`${path}/export?format=csv&${query}`);
    expect(file.text.replace('\ufeff', '').split('\r\n')[0]).to.equal('id,request_id,charged_usd');
    const whole = await member.get(`${path}/export?format=csv&columns=nonsense`);
    expect(whole.text.split('\r\n')[0]?.split(',')).to.have.length.above(10);
  });

  it('are found by members through the search', async () => {
    const { headers } = await member.send('/console/search', { text: ids[0] ?? '' });
    expect(headers['location']).to.equal(`${path}/${ids[0]}`);
  });
});
