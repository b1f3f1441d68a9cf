import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { runCommand, startProcess, type ChildProcessOptions } from '../../../bin/stack/child-process.ts';
import { waitUntil } from '../../../bin/stack/wait-until.ts';
import { PATIENCE_MS } from '../../support/eventually.ts';
import { rejectionOf } from '../../support/rejection.ts';
import { useTestFolder } from '../../support/started.ts';

const FOR_EVER = 'setInterval(() => {}, 1000);';

function nodeProcess(script: string, output: ChildProcessOptions['output'] = () => {}): ChildProcessOptions {
  return { command: process.execPath, args: ['--eval', script], output };
}

describe('a child process', () => {
  const folder = useTestFolder();

  it('ends with its exit code', async () => {
    expect(await runCommand(nodeProcess('process.exit(7)'))).to.equal(7);
  });

  it('passes its output on line by line', async () => {
    const lines: string[] = [];
    await runCommand(nodeProcess('console.log("one\\ntwo"); console.error("three")', (line) => lines.push(line)));
    expect(lines).to.have.members(['one', 'two', 'three']);
  });

  it('appends its output to a file', async () => {
    const file = join(folder, 'log');
    await runCommand(nodeProcess('console.log("one")', file));
    await runCommand(nodeProcess('console.error("two")', file));
    expect(await readFile(file, 'utf8')).to.equal('one\ntwo\n');
  });

  it('fails to start when its program does not exist', async () => {
    const error = await rejectionOf(startProcess({ command: '/nowhere/nothing', args: [], output: () => {} }));
    expect(error).to.have.property('code', 'ENOENT');
  });

  it('stops on request', async () => {
    const child = await startProcess(nodeProcess(FOR_EVER));
    await child.stop(60_000);
    expect(await child.exited).to.equal('SIGTERM');
  });

  it('dies by SIGKILL when it does not stop within its grace', async () => {
    const lines: string[] = [];
    const deaf = nodeProcess(`process.on('SIGTERM', () => {}); console.log('deaf'); ${FOR_EVER}`, (line) =>
      lines.push(line),
    );
    const child = await startProcess(deaf);
    await waitUntil(async () => expect(lines).to.include('deaf'), { timeoutMs: PATIENCE_MS });
    await child.stop(10);
    expect(await child.exited).to.equal('SIGKILL');
  });

  it('accepts a stop and a kill after its end', async () => {
    const child = await startProcess(nodeProcess(''));
    await child.exited;
    await child.stop(60_000);
    await child.kill();
    expect(await child.exited).to.equal(0);
  });

  it('ignores Ctrl-C in the terminal of its parent', async () => {
    const child = await startProcess(nodeProcess(FOR_EVER));
    // A process group of its own: its id is the pid of its leader.
    expect(() => process.kill(-child.pid, 0)).not.to.throw();
    await child.kill();
  });
});
