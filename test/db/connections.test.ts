import { expect } from 'chai';
import { retryOnLostConnection, isConnectionLost, isUnavailable, SilentConnectionError } from '../../db/connections.ts';
import { createDatabase, type Database } from '../../db/database.ts';
import { waitUntil } from '../../bin/stack/wait-until.ts';
import { useTestDatabase } from '../support/database.ts';
import { eventually, PATIENCE_MS } from '../support/eventually.ts';
import { rejectionOf } from '../support/rejection.ts';
import { startTcpProxy, type TcpProxy } from '../../lab/stack/tcp-proxy.ts';

const LIMITS = { connectMs: 5_000, statementMs: 500, lockMs: 250, idleInTransactionMs: 250, silenceMs: 750 };
const CONNECTIONS = 5;

describe('a pool of connections', () => {
  const testDatabase = useTestDatabase();
  let proxy: TcpProxy;
  let database: Database;

  beforeEach(async () => {
    proxy = await startTcpProxy(testDatabase.url);
    database = createDatabase(proxy.urlOf(testDatabase.url), CONNECTIONS, LIMITS);
  });
  afterEach(async () => {
    await Promise.all([proxy.close(), database.destroy()]);
  });

  async function useAll(): Promise<void> {
    // On a slow machine, a statement may exceed its limit.
    await eventually(async () => {
      await Promise.all(Array.from({ length: CONNECTIONS }, () => database.raw('SELECT pg_sleep(0.05)')));
      return proxy.connections() === CONNECTIONS;
    });
  }

  it('abandons a statement without an answer, and repeats it on a connection that works', async () => {
    await useAll();
    proxy.silence();
    let tries = 0;
    const answer = await retryOnLostConnection(() => {
      tries += 1;
      return database.raw('SELECT 1 AS one');
    });
    expect(answer.rows).to.deep.equal([{ one: 1 }]);
    expect(tries).to.equal(2);
  });

  it('loses only one time limit, however many connections are silent', async () => {
    await useAll();
    proxy.silence();
    expect(await rejectionOf(database.raw('SELECT 1'))).to.be.instanceOf(SilentConnectionError);
    for (let i = 0; i < CONNECTIONS; i += 1) await database.raw('SELECT 1');
  });

  it('ends all statements that wait on silent connections', async () => {
    await useAll();
    proxy.silence();
    const waiting = Array.from({ length: 3 * CONNECTIONS }, () =>
      retryOnLostConnection(() => database.raw('SELECT 1')),
    );
    expect(await Promise.all(waiting)).to.have.length(3 * CONNECTIONS);
  });

  it('keeps connections that are idle for longer than the limit of a statement', async () => {
    // On a slow machine, a statement itself may exceed the limit.
    await eventually(async () => {
      const { rows: before } = await database.raw('SELECT pg_backend_pid() AS pid');
      await new Promise((resolve) => setTimeout(resolve, LIMITS.silenceMs * 1.5));
      const { rows: after } = await database.raw('SELECT pg_backend_pid() AS pid');
      return after[0].pid === before[0].pid;
    });
  });

  it('checks connections that were idle for longer than the limit of a statement', async () => {
    await useAll();
    await new Promise((resolve) => setTimeout(resolve, LIMITS.silenceMs * 1.5));
    proxy.silence();
    expect(await rejectionOf(database.raw('SELECT 1'))).to.be.instanceOf(SilentConnectionError);
  });

  it('repeats a statement whose connection was lost', async () => {
    await useAll();
    const answer = retryOnLostConnection(() => database.raw('SELECT 2 AS two FROM pg_sleep(0.3)'));
    setTimeout(() => proxy.reset(), 100);
    expect((await answer).rows).to.deep.equal([{ two: 2 }]);
  });

  it('recognises a lost connection by the statement’s error, whatever its wording', async () => {
    await database.raw('SELECT 1');
    const failed = rejectionOf(database.select(database.raw('pg_sleep(5)')));
    await waitUntil(
      async () => {
        const { rows } = await testDatabase.database.raw(
          `SELECT 1 FROM pg_stat_activity WHERE query LIKE '%pg_sleep(5)%' AND wait_event = 'PgSleep'`,
        );
        expect(rows).to.have.length(1);
      },
      { timeoutMs: PATIENCE_MS },
    );
    await proxy.close();
    const error = await failed;
    expect(error.message).to.include('select pg_sleep(5)').and.to.include('Connection terminated');
    expect(isConnectionLost(error)).to.equal(true);
    expect(isUnavailable(error)).to.equal(true);
  });

  for (const [state, name] of [
    ['53100', 'disk_full'],
    ['53200', 'out_of_memory'],
    ['53300', 'too_many_connections'],
    ['57P03', 'cannot_connect_now'],
    ['58030', 'io_error'],
    ['25006', 'read_only_sql_transaction'],
  ]) {
    it(`counts ${name} (${state}) as a database that is unavailable`, async () => {
      const raised = `DO $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '${state}'; END $$`;
      expect(isUnavailable(await rejectionOf(database.raw(raised)))).to.equal(true);
    });
  }

  it('repeats no refused statement', async () => {
    const refused = await rejectionOf(retryOnLostConnection(() => database.raw('SELECT 1 / 0')));
    expect(isConnectionLost(refused)).to.equal(false);
  });

  it('lets the server cancel a statement that takes too long, or waits too long for a lock', async () => {
    const slow = await rejectionOf(database.raw('SELECT pg_sleep(5)'));
    expect(slow).to.have.property('code', '57014');
    const lock = 'SELECT pg_advisory_xact_lock(99)';
    await database
      .transaction(async (holder) => {
        await holder.raw(lock);
        const waited = await rejectionOf(database.raw(lock));
        expect(waited).to.have.property('code', '55P03');
      })
      .catch(() => undefined);
  });

  it('lets the server release the locks of a transaction whose client is silent', async () => {
    const other = createDatabase(testDatabase.url, 1);
    await database.raw('SELECT 1');
    const held = database.transaction(async (holder) => {
      await holder.raw('SELECT pg_advisory_xact_lock(98)');
      proxy.silence();
      await other.raw('SELECT pg_advisory_xact_lock(98)');
    });
    const error = await rejectionOf(held);
    expect(isConnectionLost(error), error.message).to.equal(true);
    await other.destroy();
  });
});
