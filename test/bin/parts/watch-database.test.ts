import { expect } from 'chai';
import { pino } from 'pino';
import { watchDatabase } from '../../../bin/parts/watch-database.ts';
import { waitUntil } from '../../../bin/stack/wait-until.ts';
import { createDatabaseClock } from '../../../db/database-clock.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';

const UNREACHABLE = 'postgres://nobody@127.0.0.1:9/nothing';

describe('the watch over the database', () => {
  let testDatabase: TestDatabase;

  before(async () => {
    testDatabase = await createTestDatabase();
  });
  after(() => testDatabase.drop());

  /** @returns what was logged and how often the process was given up, after some looks */
  async function watch(settings: { url?: string; aheadMs?: number; ping: () => Promise<void> }) {
    const { url = testDatabase.url, aheadMs = 0, ping } = settings;
    let log = '';
    let looks = 0;
    let givenUp = 0;
    const watching = watchDatabase({
      url,
      clock: createDatabaseClock(testDatabase.database, { nowMs: () => Date.now() + aheadMs }),
      pings: [
        async () => {
          looks += 1;
          await ping();
        },
      ],
      log: pino({ level: 'warn' }, { write: (line) => void (log += line) }),
      giveUp: () => void (givenUp += 1),
      pauseMs: 10,
      hopelessAfterMs: 100,
    });
    const startedAt = performance.now();
    await waitUntil(
      async () => {
        if (looks < 5 || performance.now() - startedAt < 500) throw new Error('too few looks');
      },
      { timeoutMs: 10_000 },
    );
    watching.stop();
    return { log, givenUp };
  }

  const fail = async (): Promise<void> => {
    throw new Error('no connection works');
  };

  it('gives up the process whose connections fail although new ones work, and says so', async () => {
    const { log, givenUp } = await watch({ ping: fail });
    expect(givenUp).to.be.above(0);
    expect(log).to.include('only on new connections');
  });

  it('keeps a process whose database is away for everybody', async () => {
    const { givenUp } = await watch({ url: UNREACHABLE, ping: fail });
    expect(givenUp).to.equal(0);
  });

  it('keeps a process whose connections work, and warns of a clock that is off', async () => {
    const fine = await watch({ ping: async () => {} });
    expect([fine.log, fine.givenUp]).to.deep.equal(['', 0]);
    const off = await watch({ aheadMs: 60_000, ping: async () => {} });
    expect(off.log).to.include('ahead_ms');
    expect(off.givenUp).to.equal(0);
  });
});
