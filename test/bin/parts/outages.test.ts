import { expect } from 'chai';
import { pino } from 'pino';
import { collapseRepeatedErrors } from '../../../bin/parts/outages.ts';
import { waitUntil } from '../../../bin/stack/wait-until.ts';
import { PATIENCE_MS } from '../../support/eventually.ts';
import { ServiceError } from '../../../domain/errors.ts';

const AWAY = Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:5432'), { code: 'ECONNREFUSED' });

describe('the log of a process while the database is unavailable', () => {
  function open(settings: { overAfterMs: number; reportEveryMs?: number }) {
    const lines: Record<string, unknown>[] = [];
    const log = pino(
      { hooks: collapseRepeatedErrors(settings) },
      { write: (line) => void lines.push(JSON.parse(line)) },
    );
    return { log, lines };
  }

  it('reports the start of the outage, and its end with the counts', async () => {
    const { log, lines } = open({ overAfterMs: 40 });
    log.error({ err: AWAY, request_id: 'req_1' }, 'request failed');
    for (let count = 0; count < 100; count += 1) log.error({ err: AWAY }, 'request failed');
    log.child({ part: 'temporal' }).warn({ error: AWAY }, 'activity failed');
    log.error({ err: new ServiceError('processing_unavailable', 'Wait.', { cause: AWAY }) }, 'text request failed');
    expect(lines).to.have.length(1);
    expect(lines[0]).to.include({ msg: 'request failed', request_id: 'req_1', outage: 'database' });
    await waitUntil(async () => expect(lines).to.have.length(2), { timeoutMs: PATIENCE_MS, pauseMs: 5 });
    expect(lines[1]).to.include({ msg: 'the database was unreachable', outage: 'database' });
    expect(lines[1]).to.deep.include({
      failures: { 'request failed': 101, 'activity failed': 1, 'text request failed': 1 },
    });
    log.error({ err: AWAY }, 'request failed');
    expect(lines, 'another outage').to.have.length(3);
  });

  it('reports the outage again at intervals', async () => {
    const { log, lines } = open({ overAfterMs: 60_000, reportEveryMs: 20 });
    log.error({ err: AWAY }, 'request failed');
    await waitUntil(async () => expect(lines).to.have.length.above(1), { timeoutMs: PATIENCE_MS, pauseMs: 5 });
    expect(lines[1]).to.include({ msg: 'the database is still unreachable' });
  });

  it('keeps every line about other subjects', () => {
    const { log, lines } = open({ overAfterMs: 60_000 });
    for (const err of [AWAY, new Error('a mistake'), new Error('a mistake')]) log.error({ err }, 'request failed');
    for (let count = 0; count < 2; count += 1) log.info({ err: AWAY, status: 503 }, 'request');
    log.error('stopping took too long');
    log.fatal({ err: AWAY }, 'exiting, to be restarted');
    expect(lines).to.have.length(7);
  });
});
