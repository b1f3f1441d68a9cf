import { expect } from 'chai';
import { usualPeriods } from '../../console/period.ts';
import { newId } from '../../domain/ids.ts';
import { formatDollars, formatUsd, parseUsd } from '../../domain/money.ts';
import { SUMMED_TOKEN_COUNTS } from '../../domain/text-tokens.ts';
import { useAccount, useTestConsole, useVisitor, Visitor } from '../support/console.ts';
import { createTaskRow, finishAsFailed, finishAsSucceeded, keyOf } from '../support/factories.ts';
import { newHold, openTextLedger, settlementOf } from '../support/text-money.ts';

const NAME = '=HYPERLINK("https://evil.test","<b>free</b>")';
const SMALL = 123_456_789_013n;
const DAY_MS = 86_400_000;
const dayAgo = (days: number): string => new Date(Date.now() - days * DAY_MS).toISOString().slice(0, 10);
const [FIRST, TODAY] = [dayAgo(29), dayAgo(0)];
const LAST_DAYS = `from=${FIRST}&to=${TODAY}`;

describe('the usage page', () => {
  const app = useTestConsole();
  const customer = useAccount(app, { fundedUsd: 25, key: { name: NAME } });
  const other = useAccount(app, { fundedUsd: 5, key: { name: 'of another account' } });
  const visitor = useVisitor(app, () => ({ email: 'owner@example.com', account_id: customer.accountId }));
  let path: string;

  before(async () => {
    for (const caller of [customer, customer, other]) {
      await finishAsSucceeded(app.database, await createTaskRow(app.database, keyOf(caller)));
    }
    await finishAsFailed(app.database, await createTaskRow(app.database, keyOf(customer)));
    const ledger = openTextLedger(app.databaseUrl, { poolSize: 1 });
    // Nothing of yesterday is summed yet, as in a database that is older than a day.
    await app.database('daily_usage_summed').update({ before: new Date(Date.now() - 2 * 86_400_000) });
    const yesterday = newId('textRequest', new Date().setUTCHours(0, 0, 0, 0) - 1);
    const hold = newHold(keyOf(customer), { id: yesterday, amount: SMALL });
    await ledger.hold([hold]);
    await ledger.settle([settlementOf(hold, { charge: SMALL })]);
    await ledger.close();
    path = `/console/accounts/${customer.accountId}/usage`;
  });

  it('agrees to the last digit with the API for the same period', async () => {
    const response = await fetch(`${app.baseUrl}/v1/usage`, {
      headers: { authorization: `Bearer ${customer.apiKey}` },
    });
    const { data } = (await response.json()) as { data: { charged_usd: number; requests: number }[] };
    const charged = data.reduce((total, { charged_usd }) => total + parseUsd(charged_usd), 0n);
    expect(formatUsd(charged)).to.equal('2.123456789013');
    const { text } = await visitor.get(`${path}?${LAST_DAYS}`);
    const totals = [...text.matchAll(/<tfoot>.*?<\/tfoot>/gs)].map(([row]) => row);
    expect(totals).to.have.length(3);
    for (const row of totals)
      expect(row)
        .to.include(`${formatDollars(charged)}</span>`)
        .and.include('>3</td>');
  });

  it('names days, models and keys of the account only', async () => {
    const { text } = await visitor.get(`${path}?${LAST_DAYS}`);
    expect(text).to.include('vidone-3.0').and.include('textc-M3').and.include('&lt;b&gt;free&lt;/b&gt;');
    expect(text).not.to.include('of another account').and.not.include('<b>free');
  });

  it('draws a bar for each model and day, which links to the cost of the day, as does the row of each table', async () => {
    const { text } = await visitor.get(`${path}?${LAST_DAYS}`);
    const [, chart = ''] = /<figure class="chart"(.*?)<\/figure>/s.exec(text) ?? [];
    expect(chart).to.include('<li>$2.00</li><li>$1.00</li><li>$0.00</li>');
    expect(chart.match(/class="series-\d" x=/g)).to.have.length(2);
    expect(chart).to.include(`<title>${TODAY}: $2.00</title>`);
    expect(chart).to.include(`href="?${LAST_DAYS.replace('&', '&amp;')}&amp;day=${TODAY}"`);
    expect(text).to.include(`<a href="?${LAST_DAYS.replace('&', '&amp;')}&amp;model=textc-M3">textc-M3</a>`);
    const ofDay = await visitor.get(`${path}?${LAST_DAYS}&day=${TODAY}`);
    expect(ofDay.text).to.include('vidone-3.0').and.not.include('textc-M3');
    const ofModel = await visitor.get(`${path}?${LAST_DAYS}&model=textc-M3`);
    expect(ofModel.text).to.include('$0.12').and.not.include('vidone-3.0');
    const ofKey = await visitor.get(`${path}?${LAST_DAYS}&key=${customer.keyId}&model=none`);
    expect(ofKey.text).to.include('&lt;b&gt;free&lt;/b&gt;').and.include('No usage in this period');
  });

  it('exports the filtered rows', async () => {
    const { text } = await visitor.get(`${path}/export?${LAST_DAYS}&format=csv&model=textc-M3`);
    expect(text.trimEnd().split('\r\n')).to.have.length(2);
  });

  it('shows the name of a deleted key', async () => {
    const key = await app.createAccount({ fundedUsd: 5, key: { name: 'gone since' } });
    await finishAsSucceeded(app.database, await createTaskRow(app.database, keyOf(key)));
    await app.database('api_keys').where({ id: key.keyId }).update({ deleted_at: new Date() });
    const member = await Visitor.invited(app, { email: 'deleted@example.com', account_id: key.accountId });
    expect((await member.get(`/console/accounts/${key.accountId}/usage`)).text).to.include('gone since');
  });

  it('suggests the next step where nothing was used', async () => {
    expect((await visitor.get(`${path}?from=2020-01-01&to=2020-01-31`)).text).to.include('No usage in this period');
  });

  it('compares the period with as many days before', async () => {
    const { text } = await visitor.get(`${path}?from=${TODAY}&to=${TODAY}`);
    expect(text).to.include('+1,520% against $0.12 in the day before').and.include('+100% against 1 in the day before');
    const ofYears = await visitor.get(`${path}?${LAST_DAYS}`);
    expect(ofYears.text).to.include('$0.00 in the 30 days before').and.not.include('against');
  });

  it('shows this month for invalid days, and marks the shown period', async () => {
    // On some days, another period has the same days.
    const { thisMonth, ...others } = usualPeriods(Date.now());
    const alike = Object.entries(others).filter(([, days]) => days.join() === thisMonth.join());
    for (const query of ['', '?from=2026-13-01&to=x', `?from=${encodeURIComponent("' OR 1=1")}`]) {
      const { status, text } = await visitor.get(path + query);
      const marked = [...text.matchAll(/aria-current="true">([^<]*)</g)].map(([, name]) => name);
      expect(status).to.equal(200);
      expect(marked)
        .to.include('This month')
        .and.have.length(1 + alike.length);
    }
  });

  for (const days of ['from=2026-01-01&to=2026-12-31', 'from=2026-02-02&to=2026-02-01']) {
    it(`refuses the days ${days}`, async () => {
      for (const at of [`${path}?${days}`, `${path}/export?format=csv&${days}`]) {
        expect((await visitor.get(at)).status).to.equal(400);
      }
    });
  }

  it('is exported as CSV without formulas for spreadsheets', async () => {
    const { headers, text } = await visitor.get(`${path}/export?${LAST_DAYS}&format=csv`);
    expect(headers['content-type']).to.include('text/csv');
    expect(headers['content-disposition']).to.equal(`attachment; filename="usage-${FIRST}_${TODAY}.csv"`);
    const [head, ...rows] = text.trimEnd().split('\r\n');
    const tokens = SUMMED_TOKEN_COUNTS.map(({ column }) => column).join(',');
    expect(head).to.equal(
      `date,kind,model,api_key_id,requests,failed,${tokens},billable_duration_seconds,charged_usd,api_key_name`,
    );
    expect(rows).to.have.length(2);
    for (const row of rows) expect(row).to.include(`,"'=HYPERLINK(""https`);
    expect(rows[1]).to.include('0.123456789013');
  });

  it('is exported as JSON lines, the objects of the API', async () => {
    const { headers, text } = await visitor.get(`${path}/export?${LAST_DAYS}&format=jsonl`);
    expect(headers['content-type']).to.include('application/x-ndjson');
    const [first] = text.split('\n');
    expect(JSON.parse(first ?? '')).to.include({ object: 'daily_usage', model: 'vidone-3.0', charged_usd: 2 });
  });

  it('is exported in no other format', async () => {
    expect((await visitor.get(`${path}/export?format=xlsx`)).status).to.equal(400);
  });

  it('stays small, however many keys and models were used', async () => {
    const { accountId } = await app.createAccount({ fundedUsd: 5 });
    const member = await Visitor.invited(app, { email: 'many@example.com', account_id: accountId });
    await app.database.raw(
      /* sql */ `
      INSERT INTO api_keys (id, account_id, digest, pepper_mark, hint, name)
      SELECT 'key_' || lpad(n::text, 32, '0'), :accountId, decode(lpad(n::text, 64, '0'), 'hex'), '', 'sk-…', 'key ' || n
      FROM generate_series(1, 2000) AS n`,
      { accountId },
    );
    for (let first = 1; first < 100_000; first += 2_000) {
      await app.database.raw(
        /* sql */ `
        INSERT INTO text_requests (id, created_at, account_id, api_key_id, request_id, model, format, streamed,
          outcome, catalogue_version, input_tokens, cache_read_tokens, cache_write_tokens, cache_write_1h_tokens, output_tokens,
          estimated, held, excess, charge, absorbed)
        SELECT first_id_at('txt_', now()) || lpad(n::text, 22, '0'), now(), :accountId, 'key_' || lpad((n % 2000 + 1)::text, 32, '0'), 'req',
          'model-' || n % 40, 'chat-completions', false, 'succeeded', 'test', 1, 0, 0, 0, 1, false, n, 0, n, 0
        FROM generate_series(:first, :first + 1999) AS n`,
        { accountId, first },
      );
    }
    const { status, text } = await member.get(`/console/accounts/${accountId}/usage`);
    expect([status, Buffer.byteLength(text) < 100_000]).to.deep.equal([200, true]);
    expect(text).to.include('1,900 others').and.include('100,000');
  });
});
