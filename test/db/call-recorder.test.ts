import { expect } from 'chai';
import pino from 'pino';
import { createCallRecorder } from '../../db/call-recorder.ts';
import type { Database } from '../../db/database.ts';
import {
  listCalls,
  listLatestFailures,
  listOpenCircuits,
  listTextAttempts,
  nameOfTarget,
} from '../../db/queries/upstream-calls.ts';
import { newId } from '../../domain/ids.ts';
import { durationAtMs } from '../../domain/call-sum.ts';
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
      for (let round = 0; round < 3; round += 1) recorder.record(target, 80, null);
      recorder.record(target, 900, { fault: 'failed', status: 500, message: 'Overloaded' });
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
    recorder.record(target, 80, null);
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

  it('show the latest failure, with the upstream’s message', async () => {
    const target = newTarget();
    const recorder = createCallRecorder(database, log);
    recorder.record(target, 1, { fault: 'failed', status: 500, message: 'Overloaded' });
    await recorder.flush();
    recorder.record(target, 1, { fault: 'key_refused', status: 401, message: 'Wrong key' });
    recorder.record(target, 1, null);
    await recorder.stop();
    const failure = (await listLatestFailures(database)).get(nameOfTarget(target));
    expect(failure).to.include({ fault: 'key_refused', status: 401, message: 'Wrong key' });
  });

  it('recorded calls are written with the next report if they could not be written', async () => {
    const target = newTarget();
    const recorder = createCallRecorder(database, log);
    await database.schema.renameTable('upstream_calls', 'unavailable');
    recorder.record(target, 80, { fault: 'failed', status: null, message: '' });
    expect(await rejectionOf(recorder.flush())).to.be.an('error');
    await database.schema.renameTable('unavailable', 'upstream_calls');
    recorder.record(target, 80, null);
    await recorder.flush();
    expect((await callsOf(target))?.lastHour).to.include({ requests: 2, failures: 1 });
    await recorder.stop();
  });

  it('are written without messages that PostgreSQL cannot store', async () => {
    const target = newTarget();
    const recorder = createCallRecorder(database, log);
    recorder.record(target, 80, { fault: 'failed', status: 500, message: 'half of \ud83d' });
    // The first report fails, possibly one of the recorder's own.
    await recorder.flush().catch(() => undefined);
    await recorder.flush();
    expect((await callsOf(target))?.lastHour).to.include({ requests: 1, failures: 1 });
    expect((await listLatestFailures(database)).get(nameOfTarget(target))).to.include({ status: 500, message: '' });
    await recorder.stop();
  });

  it('calls of a text request stay in order if one of them failed', async () => {
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
