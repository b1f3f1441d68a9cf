import { expect } from 'chai';
import { endpointsFor } from '../../api/endpoints.ts';
import { PAGES } from '../../console/pages.ts';
import { newId } from '../../domain/ids.ts';
import { useAccount, useTestConsole, useVisitor } from '../support/console.ts';
import { makeSamples, type Samples } from '../support/samples.ts';
import { call } from '../support/stack.ts';

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
  'budgets',
  'billing_documents',
  'transfers',
] as const;

describe('the ids of another account', () => {
  const app = useTestConsole();
  const own = useAccount(app, { fundedUsd: 10 });
  const owner = useVisitor(app, () => ({ email: 'owner@example.com', account_id: own.accountId }));
  const operator = useVisitor(app, () => ({ email: 'op@example.com', staff_role: 'operator' }));
  let theirs: Samples;
  const unknown: Samples = {
    task_id: newId('task'),
    key_id: newId('apiKey'),
    webhook_id: newId('webhookEndpoint'),
    delivery_id: newId('delivery'),
    text_request_id: newId('textRequest'),
    request_id: newId('request'),
    budget_id: newId('endUserBudget'),
    document_id: newId('billingDocument'),
    file_id: newId('file'),
    batch_id: newId('batch'),
    user_id: newId('user'),
  };

  before(async () => {
    theirs = await makeSamples(app, await app.createAccount({ fundedUsd: 10 }));
    expect(Object.values(theirs)).not.to.include.oneOf(['', 'undefined']);
  });

  /** Null for a path with a parameter that is no id of an account. */
  function pathWith(path: string, ids: Samples): string | null {
    const names = Array.from(path.matchAll(/\{(\w+)\}/g), ([, name = '']) => name).filter(
      (name) => name !== 'account_id',
    );
    if (names.length === 0 || !names.every((name) => name in unknown)) return null;
    return path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
      name === 'account_id' ? own.accountId : (ids[name] ?? ''),
    );
  }

  /** A body without ids and tokens, which differ each time. */
  const withoutIds = (text: string): string =>
    text.replaceAll(/\b[a-z]+_[0-9a-z]{32}\b/g, 'ID').replaceAll(/value="[\w-]{20,}"/g, 'value=""');

  async function rowsOfTheirs(): Promise<unknown> {
    const { account_id } = theirs;
    const rows = await Promise.all(
      TABLES.map((table) => app.database(table).where(table === 'accounts' ? { id: account_id } : { account_id })),
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
            key: own.apiKey,
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
    for (const { access, method, path } of PAGES) {
      const [known, none] = [theirs, unknown].map((ids) => pathWith(path, ids));
      if (!path.includes('/accounts/{account_id}/') || !known || !none) continue;
      asked += 1;
      const visitor = access === 'staff' ? operator : owner;
      const ask = async (target: string): Promise<string> => {
        const { status, text, headers } =
          method === 'get'
            ? await visitor.get(`/console${target}`)
            : await visitor.send(`/console${target}`, { role: 'owner', url: 'https://example.com/x', name: 'x' });
        // The next page says what some forms did.
        if (method === 'post') await visitor.get('/console/profile');
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
