import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { trackDepartedClients, type AbandonReason } from '../../../services/text/departed-clients.ts';

const LONG_MS = 5_000;

describe('upstream calls whose clients left', () => {
  it('calls whose clients left are cut off after a while if they have not completed', async () => {
    const departedClients = trackDepartedClients(20);
    const ended: string[] = [];
    departedClients.track('acc_1', (ending) => ended.push(`first ${ending}`));
    departedClients.track('acc_1', (ending) => ended.push(`second ${ending}`))();
    await sleep(60);
    expect(ended).to.deep.equal(['first unfinished']);
  });

  it('calls whose clients left are at most a thousand per account, and leave room for other accounts', () => {
    const departedClients = trackDepartedClients(LONG_MS);
    const ended: AbandonReason[] = [];
    const end = (ending: AbandonReason): void => void ended.push(ending);
    const forgets = Array.from({ length: 1_000 }, () => departedClients.track('acc_1', end));
    expect(ended).to.deep.equal([]);
    departedClients.track('acc_1', end);
    expect(ended).to.deep.equal(['crowded-out']);
    forgets.push(departedClients.track('acc_2', end));
    expect(ended).to.have.length(1);
    forgets.pop()?.();
    forgets.pop()?.();
    forgets.push(departedClients.track('acc_1', end));
    expect(ended).to.have.length(1);
    for (const forget of forgets) forget();
  });

  it('calls whose clients left are at most four thousand in total', () => {
    const departedClients = trackDepartedClients(LONG_MS);
    let ended = 0;
    const forgets = Array.from({ length: 4_001 }, (_, index) =>
      departedClients.track(`acc_${index % 10}`, () => void (ended += 1)),
    );
    expect(ended).to.equal(1);
    for (const forget of forgets) forget();
  });

  it('calls whose clients left are cut off with all connections when the service stops', async () => {
    const departedClients = trackDepartedClients(LONG_MS);
    const ended: AbandonReason[] = [];
    const forget = departedClients.track('acc_1', (ending) => ended.push(ending));
    departedClients.stop(10);
    expect(departedClients.isCutting).to.equal(false);
    await sleep(40);
    expect(departedClients.isCutting).to.equal(true);
    expect(ended).to.deep.equal(['cut']);
    forget();
  });
});
