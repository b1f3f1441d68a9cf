import { expect } from 'chai';
import { endpointsFor } from '../../api/endpoints.ts';
import { PAGES } from '../../console/pages.ts';
import { recordSeller } from '../../db/queries/billing-documents.ts';
import { topUp } from '../../db/queries/credits.ts';
import { setEndUserBudget } from '../../db/queries/end-user-budgets.ts';
import { newId } from '../../domain/ids.ts';
import { parseUsd } from '../../domain/money.ts';
import { useTestConsole, Visitor } from '../support/console.ts';
import { createEndpoint, createTaskRow, createTextRequestRow, finishAsSucceeded } from '../support/factories.ts';
import { FORM_HEADERS, formOf } from '../support/forms.ts';
import { call } from '../support/stack.ts';

type Ids = Readonly<Record<string, string>>;

/** Tables whose rows belong to an account. */
const TABLES = [
  'accounts',
  'api_keys',
  'tasks',
  'text_requests',
  'uploads',
  'webhook_endpoints',
  'deliveries',
  'account_members',
  'end_user_budgets',
  'billing_documents',
  'transfers',
] as const;

describe('the ids of another account', () => {
  const app = useTestConsole();
  let ownAccountId: string;
  let ownKey: string;
  let theirAccountId: string;
  let owner: Visitor;
  /** Ids by the names of their path parameters. */
  let theirs: Ids;
  let unknown: Ids;

  before(async () => {
    const { database } = app;
    ({ accountId: ownAccountId, apiKey: ownKey } = await app.createAccount({ fundedUsd: 10 }));
    owner = await Visitor.invited(app, { email: 'owner@example.com', account_id: ownAccountId });
    await recordSeller(database, { name: 'Acme', address: [], taxId: null, taxes: [], taxPoint: 'paid' });
    const { accountId, keyId, apiKey } = await app.createAccount({ fundedUsd: 10 });
    theirAccountId = accountId;
    const key = { id: keyId, accountId };
    const webhook = await createEndpoint(database, { id: accountId });
    const task = await createTaskRow(database, key);
    await finishAsSucceeded(database, task);
    const request = await createTextRequestRow(database, key);
    const budget = { usageLimit: parseUsd(1), limitPeriod: 'day' } as const;
    const kept = await setEndUserBudget(database, { accountId, endUser: 'ada', ...budget });
    await topUp(database, { accountId, amount: parseUsd(5), reference: 'second' });
    await Visitor.invited(app, { email: 'theirs@example.com', account_id: accountId });
    const content = Buffer.from('\x89PNG\r\n\x1a\n\0\0\0\rIHDR'.padEnd(64, '\0'), 'latin1');
    await fetch(`${app.baseUrl}/v1/files`, {
      method: 'POST',
      headers: { ...FORM_HEADERS, authorization: `Bearer ${apiKey}` },
      body: formOf({ filename: 'a.png', content }),
    });
    const idIn = async (table: string, column = 'id'): Promise<string> =>
      String((await database(table).where({ account_id: accountId }).pluck(column))[0]);
    theirs = {
      task_id: task.id,
      key_id: keyId,
      webhook_id: webhook.id,
      delivery_id: await idIn('deliveries'),
      text_request_id: request.id,
      request_id: request.requestId,
      budget_id: kept?.id ?? '',
      document_id: await idIn('billing_documents'),
      file_id: await idIn('uploads'),
      user_id: await idIn('account_members', 'user_id'),
    };
    expect(Object.values(theirs)).not.to.include.oneOf(['', 'undefined']);
    unknown = {
      task_id: newId('task'),
      key_id: newId('apiKey'),
      webhook_id: newId('webhookEndpoint'),
      delivery_id: newId('delivery'),
      text_request_id: newId('textRequest'),
      request_id: newId('request'),
      budget_id: newId('endUserBudget'),
      document_id: newId('billingDocument'),
      file_id: newId('file'),
      user_id: newId('user'),
    };
  });

  /** Null for a path with a parameter that is no id of an account. */
  function pathWith(path: string, ids: Ids): string | null {
    const names = Array.from(path.matchAll(/\{(\w+)\}/g), ([, name = '']) => name).filter(
      (name) => name !== 'account_id',
    );
    if (names.length === 0 || !names.every((name) => name in ids)) return null;
    return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? ownAccountId);
  }

  /** A body without ids and tokens, which differ each time. */
  const withoutIds = (text: string): string =>
    text.replaceAll(/\b[a-z]+_[0-9a-z]{32}\b/g, 'ID').replaceAll(/value="[\w-]{20,}"/g, 'value=""');

  async function rowsOfTheirs(): Promise<unknown> {
    const rows = await Promise.all(
      TABLES.map((table) =>
        app.database(table).where(table === 'accounts' ? { id: theirAccountId } : { account_id: theirAccountId }),
      ),
    );
    return JSON.parse(JSON.stringify(rows));
  }

  it('are answered by each endpoint as ids that do not exist, and change nothing', async () => {
    const before = await rowsOfTheirs();
    const told: string[] = [];
    let asked = 0;
    for (const { method, path } of endpointsFor({ canTakePayments: false })) {
      const [known, none] = [theirs, unknown].map((ids) => pathWith(path, ids));
      if (path.startsWith('/admin') || !known || !none) continue;
      asked += 1;
      const answers = await Promise.all(
        [known, none].map((target) =>
          call(app.baseUrl + target, {
            method: method.toUpperCase(),
            key: ownKey,
            ...(method !== 'get' && method !== 'delete' && { body: { events: ['task.failed'] } }),
          }),
        ),
      );
      const [one, other] = answers.map(({ status, body }) => `${status} ${withoutIds(JSON.stringify(body))}`);
      if (one !== other || one === undefined || !/^40[04] /.test(one))
        told.push(`${method} ${path}: ${one}, not ${other}`);
    }
    expect(asked).to.be.greaterThan(15);
    expect(told).to.deep.equal([]);
    expect(await rowsOfTheirs()).to.deep.equal(before);
  });

  it('are answered by each page and form as ids that do not exist, and change nothing', async () => {
    const before = await rowsOfTheirs();
    const told: string[] = [];
    let asked = 0;
    await owner.get('/console/profile');
    for (const { access, method, path } of PAGES) {
      const [known, none] = [theirs, unknown].map((ids) => pathWith(path, ids));
      if (access !== 'member' || !known || !none) continue;
      asked += 1;
      const ask = async (target: string): Promise<string> => {
        const { status, text, headers } =
          method === 'get'
            ? await owner.get(`/console${target}`)
            : await owner.send(`/console${target}`, { role: 'owner', url: 'https://example.com/x', name: 'x' });
        // The next page says what some forms did.
        if (method === 'post') await owner.get('/console/profile');
        return `${status} ${withoutIds(String(headers['location'] ?? ''))} ${withoutIds(text)}`;
      };
      const [one, other] = [await ask(known), await ask(none)];
      if (one !== other || one.startsWith('200'))
        told.push(`${method} ${path}: ${one.slice(0, 300)}, not ${other.slice(0, 300)}`);
    }
    expect(asked).to.be.greaterThan(20);
    expect(told).to.deep.equal([]);
    expect(await rowsOfTheirs()).to.deep.equal(before);
  });
});
