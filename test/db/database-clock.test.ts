import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect } from 'chai';
import { createDatabaseClock } from '../../db/database-clock.ts';
import { useTestDatabase } from '../support/database.ts';

const TEN_MINUTES_MS = 600_000;
/** Far more than a round trip takes. */
const TOLERANCE_MS = 5_000;

describe('the clock of the database', () => {
  const testDatabase = useTestDatabase();

  for (const offMs of [TEN_MINUTES_MS, -TEN_MINUTES_MS, 0]) {
    it(`is right on a machine whose clock is ${offMs} ms ahead`, async () => {
      const clock = createDatabaseClock(testDatabase.database, { nowMs: () => Date.now() + offMs });
      expect(clock.aheadMs(), 'before it was measured').to.equal(0);
      await clock.measure();
      // In the tests, the database runs on the same machine.
      expect(clock.nowMs()).to.be.closeTo(Date.now(), TOLERANCE_MS);
      expect(clock.aheadMs()).to.be.closeTo(offMs, TOLERANCE_MS);
    });
  }

  it('keeps its difference when an answer is too slow to measure another', async () => {
    let ahead = 0;
    const clock = createDatabaseClock(testDatabase.database, { nowMs: () => Date.now() + (ahead += TEN_MINUTES_MS) });
    await clock.measure();
    expect(clock.aheadMs(), 'of an answer that took ten minutes').to.be.closeTo(15 * 60_000, TOLERANCE_MS);
  });

  it('reports when it was measured for the first time', async () => {
    const clock = createDatabaseClock(testDatabase.database);
    const first = Promise.race([clock.measured.then(() => 'measured'), nextTurn('not yet')]);
    expect(await first).to.equal('not yet');
    await clock.measure();
    await clock.measured;
  });
});
