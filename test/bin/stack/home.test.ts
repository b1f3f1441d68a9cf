import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { claimHome } from '../../../bin/stack/pid-file.ts';
import { checkPorts, findFreePort } from '../../../bin/stack/ports.ts';
import { processStart } from '../../../bin/stack/process-identity.ts';
import { loadSecrets } from '../../../bin/stack/secrets.ts';
import { rejectionOf } from '../../support/rejection.ts';

describe('the state folder', () => {
  let home: string;

  beforeEach(async () => {
    home = await mkdtemp(join(tmpdir(), 'genway-test-'));
  });

  afterEach(() => rm(home, { recursive: true }));

  async function writePids(records: object): Promise<void> {
    await writeFile(join(home, 'pids.json'), JSON.stringify(records));
  }

  it('keeps the secrets of the first start, for its owner only', async () => {
    const secrets = await loadSecrets(home);
    expect(await loadSecrets(home)).to.deep.equal(secrets);
    expect(new Set(Object.values(secrets)).size).to.equal(4);
    expect((await stat(join(home, 'secrets.json'))).mode & 0o777).to.equal(0o600);
  });

  it('never replaces damaged secrets, nor shows them', async () => {
    await writeFile(join(home, 'secrets.json'), '{"adminToken":"swordfish"}');
    const error = await rejectionOf(loadSecrets(home));
    expect(error).to.have.property('message').that.contains(home).and.does.not.contain('swordfish');
  });

  it('belongs to one stack at a time', async () => {
    await claimHome(home, () => {});
    expect(await rejectionOf(claimHome(home, () => {})))
      .to.have.property('message')
      .that.contains(`as process ${process.pid}`)
      .and.contains('GENWAY_HOME');
  });

  it('names its variable when the stack cannot write to it', async () => {
    const file = join(home, 'file');
    await writeFile(file, '');
    for (const folder of [file, join(file, 'below')]) {
      expect(await rejectionOf(claimHome(folder, () => {})))
        .to.have.property('message')
        .that.contains(`cannot be written to ${folder}`)
        .and.contains('GENWAY_HOME');
    }
  });

  it('accepts another stack after a kill of its stack', async () => {
    const gone = spawn(process.execPath, ['--eval', '']);
    const pid = gone.pid ?? 0;
    const started = await processStart(pid);
    await once(gone, 'exit');
    await writePids({ supervisor: { pid, started } });
    const pidFile = await claimHome(home, () => {});
    expect(JSON.parse(await readFile(join(home, 'pids.json'), 'utf8'))).to.have.nested.property(
      'supervisor.pid',
      process.pid,
    );
    await pidFile.remove();
  });

  it('a new stack stops the processes that a crash left behind in the state folder', async () => {
    const orphan = spawn(process.execPath, ['--eval', 'setInterval(() => {}, 1000)']);
    const pid = orphan.pid ?? 0;
    await writePids({ api: { pid, started: await processStart(pid) } });
    const reports: string[] = [];
    const exited = once(orphan, 'exit');
    await claimHome(home, (line) => reports.push(line));
    await exited;
    expect(reports).to.deep.equal([`stopping api (process ${pid}), left behind by a crash`]);
  });

  it('a new stack does not stop a process that merely has the pid of an old process', async () => {
    const stranger = spawn(process.execPath, ['--eval', 'setInterval(() => {}, 1000)']);
    await writePids({ api: { pid: stranger.pid, started: 'long ago' } });
    await claimHome(home, () => {});
    expect(stranger.exitCode).to.equal(null);
    const exited = once(stranger, 'exit');
    stranger.kill('SIGKILL');
    expect(await exited).to.deep.equal([null, 'SIGKILL']);
  });
});

describe('the ports', () => {
  it('the start refuses a port that is in use, and names its variable', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    const port = typeof address === 'object' && address ? address.port : 0;
    expect(await rejectionOf(checkPorts({ GENWAY_API_PORT: port }))).to.have.property(
      'message',
      `Port ${port} is in use. Stop what listens there, or set GENWAY_API_PORT to another port.`,
    );
    server.close();
  });

  it('free ports lie outside the range of outgoing connections', async () => {
    expect(await findFreePort()).to.be.below(32_768);
  });

  it('the start refuses two equal ports, and names both variables', async () => {
    const port = await findFreePort();
    expect(await rejectionOf(checkPorts({ GENWAY_API_PORT: port, GENWAY_TEXT_PORT: port })))
      .to.have.property('message')
      .that.contains('GENWAY_TEXT_PORT and GENWAY_API_PORT are both');
  });
});
