import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { watchDepartures, type Ending } from '../../../api/text/departures.ts';

const LONG_MS = 5_000;

describe('upstream calls whose clients left', () => {
  it('are cut off after a while if they have not completed', async () => {
    const departures = watchDepartures(20);
    const ended: string[] = [];
    departures.begin('acc_1', (ending) => ended.push(`first ${ending}`));
    departures.begin('acc_1', (ending) => ended.push(`second ${ending}`))();
    await sleep(60);
    expect(ended).to.deep.equal(['first unfinished']);
  });

  it('are at most a thousand per account, and leave room for other accounts', () => {
    const departures = watchDepartures(LONG_MS);
    const ended: Ending[] = [];
    const end = (ending: Ending): void => void ended.push(ending);
    const forgets = Array.from({ length: 1_000 }, () => departures.begin('acc_1', end));
    expect(ended).to.deep.equal([]);
    departures.begin('acc_1', end);
    expect(ended).to.deep.equal(['crowded-out']);
    forgets.push(departures.begin('acc_2', end));
    expect(ended).to.have.length(1);
    forgets.pop()?.();
    forgets.pop()?.();
    forgets.push(departures.begin('acc_1', end));
    expect(ended).to.have.length(1);
    for (const forget of forgets) forget();
  });

  it('are at most four thousand in total', () => {
    const departures = watchDepartures(LONG_MS);
    let ended = 0;
    const forgets = Array.from({ length: 4_001 }, (_, index) =>
      departures.begin(`acc_${index % 10}`, () => void (ended += 1)),
    );
    expect(ended).to.equal(1);
    for (const forget of forgets) forget();
  });

  it('are cut off with all connections when the service stops', async () => {
    const departures = watchDepartures(LONG_MS);
    const ended: Ending[] = [];
    const forget = departures.begin('acc_1', (ending) => ended.push(ending));
    departures.stop(10);
    expect(departures.isCutting).to.equal(false);
    await sleep(40);
    expect(departures.isCutting).to.equal(true);
    expect(ended).to.deep.equal(['cut']);
    forget();
  });
});
