import { expect } from 'chai';
import { useTestApp } from '../../support/app.ts';
import { connectGenway, field, type Genway } from '../../support/genway.ts';
import { call } from '../../support/stack.ts';

describe('the commands for accounts, keys and tasks', () => {
  const app = useTestApp();
  let genway: Genway;

  before(async () => {
    genway = await connectGenway(app);
  });

  it('creates an account, tops it up once for each reference, and shows its balances and ledger', async () => {
    const account = field(await genway('accounts', 'create', 'Acme', '--signup-credit-usd', '5'), 'id');
    expect(account).to.match(/^acc_/);
    await genway('accounts', 'top-up', account, '12.5', '--reference', 'invoice-1');
    await genway('accounts', 'top-up', account, '12.5', '--reference', 'invoice-1');
    await genway('accounts', 'adjust', account, '-2.5', '--reason', 'double payment', '--author', 'Ada');
    const shown = await genway('accounts', 'show', account);
    expect(field(shown, 'balances.funded_usd')).to.equal('10');
    expect(field(shown, 'balances.signup_usd')).to.equal('5');
    const ledger = await genway('accounts', 'ledger', account);
    expect(ledger.match(/topup/g)).to.have.length(1);
    expect(ledger).to.contain('adjustment').and.to.contain('signup_grant');
  });

  it('creates, changes and deletes a key', async () => {
    const account = field(await genway('accounts', 'create', 'Acme'), 'id');
    const key = await genway(
      'keys',
      'create',
      account,
      '--name',
      'server',
      '--usage-limit-usd',
      '3',
      '--models',
      'textc-M3,vidone-3.0',
    );
    expect(field(key, 'api_key')).to.match(/^sk-/);
    const changed = await genway('keys', 'update', field(key, 'id'), '--disabled');
    expect(field(changed, 'disabled')).to.equal('true');
    expect(field(changed, 'usage_limit_usd')).to.equal('3');
    const freed = await genway(
      'keys',
      'update',
      field(key, 'id'),
      '--no-disabled',
      '--no-usage-limit-usd',
      '--no-models',
    );
    expect(['disabled', 'usage_limit_usd', 'models'].map((name) => field(freed, name))).to.deep.equal([
      'false',
      '-',
      '-',
    ]);
    expect(await genway('keys', 'list', account)).to.include(field(key, 'id'));
    expect(field(await genway('keys', 'delete', field(key, 'id')), 'deleted')).to.equal('true');
  });

  it('finds, edits, suspends and reopens an account', async () => {
    const account = field(await genway('accounts', 'create', 'Umbra', '--email', 'u@umbra.example'), 'id');
    await genway('accounts', 'update', account, '--external-id', 'crm-9', '--no-email');
    const listed = await genway('accounts', 'list', 'umbr');
    expect(listed).to.include(account).and.to.include('crm-9');
    expect(listed).to.not.include('u@umbra.example');
    await genway('accounts', 'suspend', account, '--reason', 'unpaid', '--author', 'Ada');
    expect(await genway('accounts', 'list', '--suspended')).to.include(account);
    expect(await genway('find', account)).to.include('suspend by Ada: unpaid');
    expect(field(await genway('accounts', 'reopen', account), 'suspended')).to.equal('false');
  });

  it('lists tasks with their times, and shows prompts to administrators who give a reason', async () => {
    // contract 4.11:31
    const { apiKey, accountId } = await app.createAccount({ fundedUsd: 10 });
    const { body } = await call<{ data: { id: string } }>(`${app.baseUrl}/v1/videos/tasks`, {
      key: apiKey,
      body: { model: 'vidone-3.0', prompt: 'a secret lighthouse' },
    });
    const list = (...options: string[]) => genway('tasks', 'list', '--account-id', accountId, ...options);
    expect(await list())
      .to.match(/ created_at +completed_at /)
      .and.not.include('lighthouse');
    expect(await list()).to.match(/queued +\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ +-/);
    expect(await list('--prompts')).to.include('"reason" is required');
    expect(await list('--prompts', '--reason', 'ticket 7', '--author', 'Ada')).to.include('a secret lighthouse');
    expect(await genway('tasks', 'show', body.data.id)).to.not.include('lighthouse');
    expect(await genway('tasks', 'explain', body.data.id)).to.include('read_prompt by Ada: ticket 7');
  });

  it('cancels a task, and shows its timeline', async () => {
    const { apiKey } = await app.createAccount({ fundedUsd: 10 });
    const { body } = await call<{ data: { id: string } }>(`${app.baseUrl}/v1/videos/tasks`, {
      key: apiKey,
      body: { model: 'vidone-3.0', prompt: 'x' },
    });
    const { id } = body.data;
    const cancelled = await genway('tasks', 'cancel', id, '--reason', 'a test', '--author', 'Ada');
    expect(field(cancelled, 'task.status')).to.equal('failed');
    const story = await genway('tasks', 'explain', id);
    expect(story)
      .to.match(new RegExp(`^${id}: Failed \\(cancelled by an operator\\)`))
      .and.include('cancel by Ada: a test');
    const data: unknown = JSON.parse(await genway('--json', 'tasks', 'explain', id));
    expect(data).to.have.nested.property('data.object', 'task_explanation');
  });
});
