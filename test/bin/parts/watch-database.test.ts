import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { pino } from 'pino';
import { watchDatabase } from '../../../bin/parts/watch-database.ts';
import { waitUntil } from '../../../bin/stack/wait-until.ts';
import { PATIENCE_MS } from '../../support/eventually.ts';
import { createDatabaseClock } from '../../../db/database-clock.ts';
import { startTcpProxy } from '../../../lab/stack/tcp-proxy.ts';
import { useTestDatabase } from '../../support/database.ts';

const UNREACHABLE = 'postgres://nobody@127.0.0.1:9/nothing';

describe('the watch over the database', () => {
  const testDatabase = useTestDatabase();

  /** @returns the log lines and how often the process was stopped, after some checks */
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
      restartAfterMs: 100,
    });
    const startedAt = performance.now();
    await waitUntil(
      async () => {
        if (givenUp === 0 && (looks < 10 || performance.now() - startedAt < 500)) throw new Error('too few looks');
      },
      { timeoutMs: PATIENCE_MS },
    );
    watching.stop();
    return { log, givenUp };
  }

  const fail = async (): Promise<void> => {
    throw new Error('no connection works');
  };

  it('ends the process whose connections fail although new ones work, and logs it', async () => {
    const { log, givenUp } = await watch({ ping: fail });
    expect(givenUp).to.equal(1);
    expect(log).to.include('only on new connections');
  });

  it('does not end a process while the database is unavailable to every process', async () => {
    const { givenUp } = await watch({ url: UNREACHABLE, ping: fail });
    expect(givenUp).to.equal(0);
  });

  it('keeps a process after an outage that was longer than connections may fail', async () => {
    const proxy = await startTcpProxy(testDatabase.url);
    try {
      proxy.refuseNew();
      const startedAt = performance.now();
      const isBack = (): boolean => performance.now() - startedAt > 300;
      let failuresSince = 0;
      const ping = async (): Promise<void> => {
        if (isBack()) proxy.refuseNew(false);
        // A statement from before the end of the outage fails after it.
        if (!isBack() || (failuresSince += 1) < 3) await fail();
      };
      expect((await watch({ url: proxy.urlOf(testDatabase.url), ping })).givenUp).to.equal(0);
    } finally {
      await proxy.close();
    }
  });

  it('keeps a process that was paused for longer than connections may fail', async () => {
    let failures = 0;
    const ping = async (): Promise<void> => {
      await sleep(failures === 0 ? 10 : 200);
      failures += 1;
      if (failures < 4) await fail();
    };
    expect((await watch({ ping })).givenUp).to.equal(0);
  });

  it('ends the process in order, with code 1 and a last log line that no outage hides', async () => {
    const parts = join(import.meta.dirname, '../../../bin/parts');
    const program = `
      import { createLog, stopOnSignal } from '${parts}/process.ts';
      import { watchDatabase } from '${parts}/watch-database.ts';
      const log = createLog('test', { logLevel: 'info' });
      stopOnSignal(log, 10_000, async () => log.info('wrote its settlements'));
      const away = Object.assign(new Error('refused'), { code: 'ECONNREFUSED' });
      log.error({ err: away }, 'request failed');
      const pings = [async () => { throw away; }];
      // Keeps the process running, as a server does.
      setInterval(() => {}, 1_000);
      watchDatabase({ url: '${testDatabase.url}', clock: { measure: async () => {} }, pings, log, pauseMs: 1, restartAfterMs: 1 });
    `;
    const args = ['--import', 'tsx', '--input-type=module', '--eval', program];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    const [lines, [code]] = await Promise.all([child.stdout.toArray(), once(child, 'exit')]);
    expect(code).to.equal(1);
    // In either order: at its end, a process writes the queue before the write in progress completes.
    expect(lines.join('')).to.contain('only on new connections').and.contain('wrote its settlements');
  });

  it('keeps a process whose connections work, and warns of a wrong clock', async () => {
    const fine = await watch({ ping: async () => {} });
    expect([fine.log, fine.givenUp]).to.deep.equal(['', 0]);
    const off = await watch({ aheadMs: 60_000, ping: async () => {} });
    expect(off.log).to.include('ahead_ms');
    expect(off.givenUp).to.equal(0);
  });
});
