import { expect } from 'chai';
import { startProcess } from '../../../bin/stack/child-process.ts';
import { waitUntil } from '../../../bin/stack/wait-until.ts';
import { PATIENCE_MS } from '../../support/eventually.ts';
import type { Killable } from '../../../bin/stack/supervise.ts';
import { startMember } from '../../../lab/stack/member.ts';

const STOP_GRACE_MS = 5_000;

/** A process that does nothing, and a member that is made of it. */
async function startIdler(start: () => Promise<Killable> = idle) {
  const lines: string[] = [];
  const member = await startMember({ role: 'api', name: 'idler', start, report: (line) => lines.push(line) });
  return { member, lines };
}

async function idle(): Promise<Killable> {
  const child = await startProcess({
    command: process.execPath,
    args: ['-e', 'setInterval(() => {}, 1000)'],
    output: () => {},
  });
  return { ...child, stop: () => child.stop(STOP_GRACE_MS) };
}

describe('a member of a stack', () => {
  it('returns after a kill, and records the outage', async () => {
    const pids: number[] = [];
    const { member } = await startIdler(async () => {
      const running = await idle();
      pids.push(running.pid);
      return running;
    });
    const outage = await member.kill(10);
    expect(member.isUp()).to.equal(true);
    expect(new Set(pids).size).to.equal(2);
    expect(member.outages).to.deep.equal([outage]);
    expect(outage.untilMs).to.be.greaterThan(outage.fromMs);
    expect(member.unexpectedEnds).to.deep.equal([]);
    await member.stop();
  });

  it('starts again until a start succeeds', async () => {
    let starts = 0;
    const { member } = await startIdler(async () => {
      starts += 1;
      if (starts === 2) throw new Error('what it needs is away');
      return idle();
    });
    await member.kill(0);
    expect(starts).to.equal(3);
    await member.stop();
  });

  it('reports its own unexpected end, and starts again', async () => {
    const processes: Killable[] = [];
    const { member, lines } = await startIdler(async () => {
      const running = await idle();
      processes.push(running);
      return running;
    });
    process.kill(processes[0]?.pid ?? 0, 'SIGTERM');
    await waitUntil(
      async () => {
        if (processes.length < 2 || !member.isUp()) throw new Error('it is not back');
      },
      { timeoutMs: PATIENCE_MS },
    );
    expect(member.unexpectedEnds).to.have.length(1);
    expect(member.outages).to.deep.equal([]);
    expect(lines).to.deep.equal(['idler ended by itself (SIGTERM)']);
    await member.stop();
  });

  it('stays down after a stop', async () => {
    let starts = 0;
    const { member } = await startIdler(async () => {
      starts += 1;
      return idle();
    });
    await member.stop();
    expect(starts).to.equal(1);
    expect(member.unexpectedEnds).to.deep.equal([]);
  });
});
