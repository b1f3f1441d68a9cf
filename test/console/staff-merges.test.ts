import { expect } from 'chai';
import { moveMergedMoney } from '../../db/queries/account-merges.ts';
import { newId } from '../../domain/ids.ts';
import { parseUsd } from '../../domain/money.ts';
import { invite, useTestConsole, useVisitor, Visitor } from '../support/console.ts';
import { createTaskRow, keyOf, reloadAccount } from '../support/factories.ts';
import { call } from '../support/stack.ts';

describe('merges in the console of the staff', () => {
  const app = useTestConsole({ settings: { secondApprovalAbove: parseUsd(100) } });
  const ada = useVisitor(app, () => ({ email: 'ada@example.com', staff_role: 'finance' }));
  const bob = useVisitor(app, () => ({ email: 'bob@example.com', staff_role: 'operator' }));

  it('compare both accounts, wait for a second person, and leave a closed account that its members can only read', async () => {
    const [source, target] = [await app.createAccount({ fundedUsd: 7 }), await app.createAccount()];
    await createTaskRow(app.database, keyOf(source));
    const email = `${source.accountId}@example.com`;
    const owner = new Visitor(app);
    await owner.enter(await invite(app, { email, account_id: source.accountId, member_role: 'owner' }));
    const path = `/console/staff/accounts/${source.accountId}/merge`;
    const compared = (await ada.get(`${path}?target=${target.accountId}`)).text;
    for (const part of ['$6.00', '$1.00 by 1 running task', email, target.accountId]) expect(compared).to.include(part);
    const fields = { form_id: newId('form'), target_account_id: target.accountId, reason: 'registered twice' };
    expect((await ada.send(path, fields)).status).to.equal(303);
    expect((await ada.send(path, fields)).status).to.equal(303);
    const merges = await app.database('account_merges').where({ source_id: source.accountId });
    expect(merges).to.have.length(1);
    const approve = `${path}/${merges[0].id}/approve`;
    expect((await bob.get('/console/staff/corrections')).text).to.include(approve);
    expect((await ada.get(path)).text)
      .to.include('/withdraw')
      .and.not.include(approve);
    expect((await ada.send(approve)).status).to.equal(403);
    expect((await bob.send(approve)).status).to.equal(303);
    await moveMergedMoney(app.database, 10);
    expect((await reloadAccount(app.database, { id: target.accountId })).fundedAvailable).to.equal(parseUsd(6));
    const shown = await bob.get(`/console/staff/accounts/${source.accountId}`);
    expect(shown.text).to.include('Merged into').and.include('Moved to another account');
    expect((await bob.get(`/console/staff/accounts/${source.accountId}?tab=danger`)).text).not.to.include('/reopen');
    const tasks = await owner.get(`/console/accounts/${source.accountId}/tasks`);
    expect(tasks.text).to.include('This account was merged').and.include(`/console/accounts/${target.accountId}`);
    expect((await owner.get(`/console/accounts/${target.accountId}/tasks`)).status).to.equal(200);
    expect((await owner.send(`/console/accounts/${source.accountId}/keys`, { name: 'new' })).status).to.equal(403);
  });

  it('leave an account that lists and the search show as merged, not as suspended', async () => {
    const [source, target] = [await app.createAccount(), await app.createAccount()];
    const merged = { suspended_at: new Date(), merged_into: target.accountId };
    await app.database('accounts').where({ id: source.accountId }).update(merged);
    const listed = async (state: string) =>
      (await bob.get(`/console/staff/accounts?state=${state}`)).text.includes(`/accounts/${source.accountId}"`);
    expect([await listed('suspended'), await listed('merged')]).to.deep.equal([false, true]);
    const list = async (query: string) => {
      const { body } = await call<{ data: { id: string }[] }>(`${app.baseUrl}/admin/v1/accounts?${query}`, {
        key: app.adminToken,
      });
      return body.data.some(({ id }) => id === source.accountId);
    };
    expect([await list('merged=true'), await list('merged=false')]).to.deep.equal([true, false]);
    const found = await bob.get(`/console/staff/accounts?search=${source.accountId}`);
    expect(found.text).to.include(`was merged into ${target.accountId}`).and.not.include('is suspended since');
  });

  it('name every reason against them, and an account that does not exist', async () => {
    const [source, target] = [await app.createAccount(), await app.createAccount()];
    await app.database('accounts').where({ id: target.accountId }).update({ suspended_at: new Date() });
    const path = `/console/staff/accounts/${source.accountId}/merge`;
    const { text } = await ada.get(`${path}?target=${target.accountId}`);
    expect(text).to.include('The account that stays is suspended or closed').and.not.include('registered twice');
    const refused = await ada.send(path, { target_account_id: target.accountId, reason: 'registered twice' });
    expect([refused.status, refused.text.includes('cannot be merged now')]).to.deep.equal([400, true]);
    expect((await ada.get(`${path}?target=acc_1`)).text).to.include('No account has this id.');
  });
});
