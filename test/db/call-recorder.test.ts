import { expect } from 'chai';
import pino from 'pino';
import { createCallRecorder } from '../../db/call-recorder.ts';
import type { Database } from '../../db/database.ts';
import { type FailurePeriod, readFailures } from '../../db/queries/call-failures.ts';
import {
  listCalls,
  listLatestFailures,
  listOpenCircuits,
  listTextAttempts,
  nameOfTarget,
} from '../../db/queries/upstream-calls.ts';
import { newId } from '../../domain/ids.ts';
import { durationAtMs } from '../../domain/upstream-calls.ts';
import { useTestDatabase } from '../support/database.ts';
import { rejectionOf } from '../support/rejection.ts';

const log = pino({ level: 'silent' });

describe('the recorded calls of upstreams', () => {
  const testDatabase = useTestDatabase();
  let database: Database;
  before(() => ({ database } = testDatabase));
  let names = 0;
  const newTarget = () => ({ upstream: `up-${(names += 1)}`, format: 'messages', model: 'm', key: '1111' });
  const callsOf = async (target: ReturnType<typeof newTarget>) => (await listCalls(database)).get(nameOfTarget(target));

  it('are added up over all processes', async () => {
    const target = newTarget();
    const recorders = [createCallRecorder(database, log), createCallRecorder(database, log)];
    for (const recorder of recorders) {
      for (let round = 0; round < 3; round += 1)
        recorder.record(target, { accountId: 'acc_1', durationMs: 80, failure: null });
      recorder.record(target, {
        accountId: 'acc_1',
        durationMs: 900,
        failure: { fault: 'failed', status: 500, message: 'Overloaded' },
      });
      await recorder.flush();
    }
    const calls = await callsOf(target);
    expect(calls?.lastFiveMinutes).to.include({ requests: 8, failures: 2 });
    expect(calls?.lastHour).to.deep.equal(calls?.lastFiveMinutes);
    expect(calls?.lastDay).to.deep.equal(calls?.lastFiveMinutes);
    expect(calls && durationAtMs(calls.lastHour, 0.5)).to.be.within(50, 100);
    expect(calls && durationAtMs(calls.lastHour, 0.95)).to.be.within(500, 1_000);
    for (const recorder of recorders) await recorder.stop();
  });

  it('drop out of the five minutes, the hour and the day as they age', async () => {
    const target = newTarget();
    const recorder = createCallRecorder(database, log);
    recorder.record(target, { accountId: 'acc_1', durationMs: 80, failure: null });
    await recorder.stop();
    const age = (interval: string) =>
      database('upstream_calls')
        .where({ upstream: target.upstream })
        .update({ start: database.raw('start - ?::interval', [interval]) });
    await age('6 minutes');
    const older = await callsOf(target);
    expect([older?.lastFiveMinutes.requests, older?.lastHour.requests]).to.deep.equal([0, 1]);
    await age('1 day');
    expect(await callsOf(target)).to.equal(undefined);
  });

  it('count failures by upstream, model, reason and account, and drop out of each period as they age', async () => {
    const target = newTarget();
    const { upstream, format, model } = target;
    const [first, other] = [newId('account'), newId('account')];
    const recorders = [createCallRecorder(database, log), createCallRecorder(database, log)];
    const failed = (accountId: string | null, fault: string) => ({
      accountId,
      durationMs: 1,
      failure: { fault, status: null, message: '' },
    });
    for (const recorder of recorders) {
      recorder.record(target, failed(first, 'processing_failed'));
      recorder.record(target, failed(first, 'processing_failed'));
      recorder.record(target, failed(other, 'processing_timeout'));
      recorder.record(target, failed(null, 'late'));
      recorder.record(target, { accountId: other, durationMs: 1, failure: null });
      await recorder.stop();
    }
    const report = async (period: FailurePeriod) => {
      const { routes, sums, bars } = await readFailures(database, period);
      return {
        routes: routes.filter((route) => route.upstream === upstream),
        sums: sums.filter((sum) => sum.upstream === upstream),
        bars: bars.map(({ failures }) => failures.get(upstream) ?? 0),
      };
    };
    const route = { upstream, format, model };
    const expected = {
      routes: [{ ...route, requests: 10, failures: 8 }],
      sums: [
        { ...route, fault: 'processing_failed', accountId: first, failures: 4, message: null },
        { ...route, fault: 'processing_timeout', accountId: other, failures: 2, message: null },
      ],
    };
    for (const [period, bars] of [
      ['five_minutes', 5],
      ['hour', 60],
      ['day', 24],
    ] as const) {
      const read = await report(period);
      expect(read, period).to.deep.include(expected);
      expect(read.bars).to.have.length(bars);
      expect(read.bars.at(-1)).to.equal(8);
    }
    for (const table of ['upstream_calls', 'upstream_call_failures']) {
      await database(table)
        .where({ upstream })
        .update({ start: database.raw(`start - interval '6 minutes'`) });
    }
    expect((await report('five_minutes')).sums).to.deep.equal([]);
    expect((await report('hour')).bars.at(-7)).to.equal(8);
  });

  it('count failures beyond 500 accounts in one report without their accounts', async () => {
    const target = newTarget();
    const recorder = createCallRecorder(database, log);
    const failure = { fault: 'failed', status: null, message: '' };
    for (let account = 0; account < 510; account += 1) {
      recorder.record(target, { accountId: `acc_${account}`, durationMs: 1, failure });
    }
    await recorder.stop();
    const rows = database('upstream_call_failures').where({ upstream: target.upstream, span: 'hour' });
    expect(await rows.clone().where({ account_id: '' }).first('failures')).to.deep.equal({ failures: 10 });
    expect(await rows.clone().sum('failures')).to.deep.equal([{ sum: '510' }]);
  });

  it('show the latest failure, with the upstream’s message', async () => {
    const target = newTarget();
    const recorder = createCallRecorder(database, log);
    recorder.record(target, {
      accountId: 'acc_1',
      durationMs: 1,
      failure: { fault: 'failed', status: 500, message: 'Overloaded' },
    });
    await recorder.flush();
    recorder.record(target, {
      accountId: 'acc_1',
      durationMs: 1,
      failure: { fault: 'key_refused', status: 401, message: 'Wrong key' },
    });
    recorder.record(target, { accountId: 'acc_1', durationMs: 1, failure: null });
    await recorder.stop();
    const failure = (await listLatestFailures(database)).get(nameOfTarget(target));
    expect(failure).to.include({ fault: 'key_refused', status: 401, message: 'Wrong key' });
  });

  it('show the latest words of the upstream for each reason', async () => {
    const { upstream, ...target } = newTarget();
    const recorder = createCallRecorder(database, log);
    for (const [fault, message] of [
      ['failed', 'Overloaded'],
      ['key_refused', 'Wrong key'],
      ['key_refused', 'Wrong key'],
      ['failed', 'Out of memory'],
    ] as const) {
      const failure = { fault, status: 500, message };
      recorder.record({ upstream, ...target }, { accountId: 'acc_1', durationMs: 1, failure });
    }
    await recorder.stop();
    const { sums } = await readFailures(database, 'hour');
    const words = sums.filter((sum) => sum.upstream === upstream).map(({ fault, message }) => [fault, message]);
    expect(words).to.have.deep.members([
      ['failed', 'Out of memory'],
      ['key_refused', 'Wrong key'],
    ]);
  });

  it('are written with the next report if they could not be written', async () => {
    const target = newTarget();
    const recorder = createCallRecorder(database, log);
    await database.schema.renameTable('upstream_calls', 'unavailable');
    recorder.record(target, {
      accountId: 'acc_1',
      durationMs: 80,
      failure: { fault: 'failed', status: null, message: '' },
    });
    expect(await rejectionOf(recorder.flush())).to.be.an('error');
    await database.schema.renameTable('unavailable', 'upstream_calls');
    recorder.record(target, { accountId: 'acc_1', durationMs: 80, failure: null });
    await recorder.flush();
    expect((await callsOf(target))?.lastHour).to.include({ requests: 2, failures: 1 });
    await recorder.stop();
  });

  it('are written without messages that PostgreSQL cannot store', async () => {
    const target = newTarget();
    const recorder = createCallRecorder(database, log);
    recorder.record(target, {
      accountId: 'acc_1',
      durationMs: 80,
      failure: { fault: 'failed', status: 500, message: 'half of \ud83d' },
    });
    // The first report fails, possibly one of the recorder's own.
    await recorder.flush().catch(() => undefined);
    await recorder.flush();
    expect((await callsOf(target))?.lastHour).to.include({ requests: 1, failures: 1 });
    expect((await listLatestFailures(database)).get(nameOfTarget(target))).to.include({ status: 500, message: '' });
    await recorder.stop();
  });

  it('stay in the order of a text request if one of them failed', async () => {
    const recorder = createCallRecorder(database, log);
    const attempt = {
      ...newTarget(),
      accountId: newId('account'),
      requestId: 'req_1',
      status: null,
      message: '',
      durationMs: 5,
    };
    recorder.recordAttempt({ ...attempt, number: 1, decision: 'next', fault: 'unreachable' });
    recorder.recordAttempt({ ...attempt, number: 2, decision: 'answered', fault: null });
    await recorder.stop();
    const kept = await listTextAttempts(database, 'req_1');
    expect(kept.map(({ number, decision, fault }) => [number, decision, fault])).to.deep.equal([
      [1, 'next', 'unreachable'],
      [2, 'answered', null],
    ]);
  });

  it('show the open circuits of each process while it reports them', async () => {
    const target = newTarget();
    const recorder = createCallRecorder(database, log);
    const circuit = { ...target, cause: 'failed', sinceMs: 1_000, untilMs: 2_000 };
    let circuits = [circuit];
    recorder.reportCircuits(() => circuits);
    const open = async () => (await listOpenCircuits(database)).filter(({ upstream }) => upstream === target.upstream);
    await recorder.flush();
    const [shown] = await open();
    expect(shown).to.deep.include(circuit);
    await database('process_circuits')
      .where({ process_id: shown?.processId })
      .update({ reported_at: database.raw(`now() - interval '1 minute'`) });
    expect(await open()).to.deep.equal([]);
    await recorder.flush();
    expect(await open()).to.have.length(1);
    circuits = [];
    await recorder.flush();
    expect(await open()).to.deep.equal([]);
    await recorder.stop();
  });
});
