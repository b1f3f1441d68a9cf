import { expect } from 'chai';
import { supervise, type Running } from '../../../bin/stack/supervise.ts';
import { waitUntil } from '../../../bin/stack/wait-until.ts';
import { PATIENCE_MS } from '../../support/eventually.ts';
import { rejectionOf } from '../../support/rejection.ts';

/** A process that ends when the test ends it. */
class Puppet implements Running {
  static count = 0;
  readonly pid = (Puppet.count += 1);
  readonly exited: Promise<string>;
  end: (cause: string) => void = () => {};

  constructor() {
    this.exited = new Promise((resolve) => (this.end = resolve));
  }

  async stop(): Promise<void> {
    this.end('stopped');
  }
}

function createStage() {
  const started: Puppet[] = [];
  const pids: number[] = [];
  const reports: string[] = [];
  const options = {
    name: 'puppet',
    start: async () => {
      const puppet = new Puppet();
      started.push(puppet);
      return puppet;
    },
    onStart: async (pid: number) => void pids.push(pid),
    report: (line: string) => void reports.push(line),
  };
  return { options, started, pids, reports };
}

describe('supervision', () => {
  it('restarts a process that ends unexpectedly, and reports the reason', async () => {
    const { options, started, pids, reports } = createStage();
    const supervised = await supervise(options);
    started[0]?.end('SIGKILL');
    await waitUntil(async () => expect(started).to.have.length(2), { timeoutMs: PATIENCE_MS });
    expect(reports).to.deep.equal(['puppet ended unexpectedly (SIGKILL); restarting it in 250 ms']);
    await supervised.stop();
    expect(pids).to.deep.equal(started.map(({ pid }) => pid));
  });

  it('waits longer after each failure', async () => {
    const { options, started, reports } = createStage();
    const supervised = await supervise(options);
    started[0]?.end('1');
    await waitUntil(async () => expect(started).to.have.length(2), { timeoutMs: PATIENCE_MS });
    started[1]?.end('1');
    await waitUntil(async () => expect(reports).to.have.length(2), { timeoutMs: PATIENCE_MS });
    expect(reports[1]).to.contain('in 500 ms');
    await supervised.stop();
  });

  it('tries again when a start fails', async () => {
    const { options, started, reports } = createStage();
    let failures = 1;
    const supervised = await supervise({
      ...options,
      start: async () => {
        if (started.length > 0 && failures-- > 0) throw new Error('no memory');
        return options.start();
      },
    });
    started[0]?.end('1');
    await waitUntil(async () => expect(started).to.have.length(2), { timeoutMs: PATIENCE_MS });
    expect(reports).to.include('puppet did not start: no memory');
    await supervised.stop();
  });

  it('starts nothing after a stop', async () => {
    const { options, started, reports } = createStage();
    const supervised = await supervise(options);
    await supervised.stop();
    expect(started).to.have.length(1);
    expect(reports).to.deep.equal([]);
  });

  it('ends at once when a stop arrives during the wait before a start', async () => {
    const { options, started, reports } = createStage();
    const supervised = await supervise(options);
    started[0]?.end('1');
    await waitUntil(async () => expect(reports).to.have.length(1), { timeoutMs: PATIENCE_MS });
    await supervised.stop();
    expect(started).to.have.length(1);
  });

  it('leaves the failure of the first start to the caller', async () => {
    const { options } = createStage();
    const failing = supervise({
      ...options,
      start: async (): Promise<Puppet> => {
        throw new Error('no memory');
      },
    });
    expect(await rejectionOf(failing)).to.have.property('message', 'no memory');
  });
});
