import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { pino } from 'pino';
import { findFreePort } from '../../../bin/stack/ports.ts';
import { type Postgres, startPostgres } from '../../../bin/stack/postgres.ts';
import { OutcomeUnknownError } from '../../../db/connections.ts';
import { createDatabase, type Database } from '../../../db/database.ts';
import { migrate } from '../../../db/migrate.ts';
import { createFlushes } from '../../../db/text-money/flushes.ts';
import type { TextLedger } from '../../../db/text-money/ledger.ts';
import { createSettlements } from '../../../db/text-money/settlements.ts';
import { createTextTurns } from '../../../db/text-money/turns.ts';
import { createFundedKey, reloadAccount, type TestKey } from '../../support/factories.ts';
import { rejectionOf } from '../../support/rejection.ts';
import { newHold, openTextLedger, settlementOf, transfersOf, usageOf } from '../../support/text-money.ts';

/** A server of its own that writes nothing to disk unless it is asked to. */
describe('a settlement whose database crashes', function () {
  this.timeout(60_000);
  let home: string;
  let port: number;
  let postgres: Postgres;
  let database: Database;
  let ledger: TextLedger;
  let key: TestKey;

  before(async () => {
    home = await mkdtemp(join(tmpdir(), 'genway-flushes-'));
    port = await findFreePort();
    await start();
    await migrate(postgres.url);
    database = createDatabase(postgres.url, 2);
    ledger = openTextLedger(postgres.url);
    key = await createFundedKey(database);
  });
  after(async () => {
    await ledger.close();
    await database.destroy();
    await postgres.stop();
    await rm(home, { recursive: true });
  });

  async function start(): Promise<void> {
    const settings = { wal_writer_delay: '10s', checkpoint_timeout: '1h' };
    postgres = await startPostgres({ dataDir: join(home, 'postgres'), port, password: 'secret', settings });
  }

  async function crash(): Promise<void> {
    await postgres.kill();
    await start();
  }

  async function funds(): Promise<bigint> {
    return (await reloadAccount(database, { id: key.accountId })).fundedAvailable;
  }

  it('is not taken as written, because the next life of the database has another id', async () => {
    const flushes = createFlushes(ledger);
    const life = await flushes.life();
    const hold = newHold(key);
    await ledger.hold([hold]);
    await flushes.flush(life);
    await ledger.settle([settlementOf(hold)]);
    expect(await usageOf(database, hold)).to.include({ outcome: 'succeeded' });
    await crash();
    expect(await rejectionOf(flushes.flush(life))).to.be.instanceOf(OutcomeUnknownError);
    expect(await usageOf(database, hold), 'what the crash lost').to.equal(null);
    await flushes.flush(await flushes.life());
  });

  it('is written again, and moves money once', async () => {
    let crashes = 1;
    const turns = createTextTurns({
      write: (turn) => ledger.write(turn),
      flush: async () => {
        if (turnsBegan && crashes-- > 0) await crash();
        return ledger.flush();
      },
    });
    let turnsBegan = false;
    const settlements = createSettlements(turns, ledger, pino({ level: 'silent' }));
    const hold = newHold(key);
    await turns.hold(hold);
    await ledger.flush();
    turnsBegan = true;
    const before = await funds();
    await settlements.add(settlementOf(hold));
    expect(await settlements.drain(20_000)).to.equal(0);
    expect(await transfersOf(database, hold)).to.deep.equal([
      ['reservation', 1_000],
      ['settlement', 600],
    ]);
    expect((await funds()) - before).to.equal(400n);
  });

  it('stays in the same life when the database is stopped and started in good order', async () => {
    const life = await ledger.flush();
    await postgres.stop();
    await start();
    expect(await ledger.flush()).to.equal(life);
  });
});
