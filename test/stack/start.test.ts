import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { startProcess, type RunningProcess } from '../../bin/stack/child-process.ts';
import { findFreePort } from '../../bin/stack/ports.ts';
import { processStart } from '../../bin/stack/process-identity.ts';
import { waitUntil } from '../../bin/stack/wait-until.ts';
import { childEnvironment } from '../../config.ts';

const START = join(import.meta.dirname, '../../bin/start.ts');
const PROCESSES = ['supervisor', 'postgres', 'temporal', 'simulator', 'api', 'text', 'worker'];
const DEMO_KEYS = [
  'base_url',
  'text_base_url',
  'temporal_address',
  'temporal_ui_url',
  'database_url',
  'simulator_url',
  'admin_token',
  'accounts',
];
const TIMEOUT_MS = 120_000;

interface Demo {
  readonly base_url: string;
  readonly text_base_url: string;
  readonly simulator_url: string;
  readonly admin_token: string;
  readonly accounts: Readonly<Record<string, { readonly account_id: string; readonly api_key: string }>>;
}

describe('npm start', function () {
  this.timeout(TIMEOUT_MS);

  const output: string[] = [];
  let home: string;
  let ports: Readonly<Record<string, string>>;
  let stack: RunningProcess;

  async function start(lines: string[]): Promise<RunningProcess> {
    return startProcess({
      command: process.execPath,
      args: ['--import', 'tsx', START],
      env: { ...childEnvironment({ GENWAY_HOME: home, DATABASE_URL: '', TEMPORAL_ADDRESS: '' }), ...ports },
      output: (line) => lines.push(line),
    });
  }

  function readDemo(): Demo {
    return JSON.parse(readFileSync(join(home, 'demo.json'), 'utf8'));
  }

  function pidOf(name: string): number {
    const pids: Record<string, { pid: number }> = JSON.parse(readFileSync(join(home, 'pids.json'), 'utf8'));
    return pids[name]?.pid ?? 0;
  }

  async function balanceOf(account: string): Promise<unknown> {
    const { base_url, admin_token, accounts } = readDemo();
    const response = await fetch(`${base_url}/admin/v1/accounts/${accounts[account]?.account_id}`, {
      headers: { authorization: `Bearer ${admin_token}` },
    });
    const { data } = (await response.json()) as { data: { topped_up: boolean; balances: Record<string, number> } };
    return { topped_up: data.topped_up, funded: data.balances['funded_usd'], signup: data.balances['signup_usd'] };
  }

  before(async () => {
    home = await mkdtemp(join(tmpdir(), 'genway-test-'));
    const names = ['GENWAY_API_PORT', 'GENWAY_TEXT_PORT', 'GENWAY_SIMULATOR_PORT', 'GENWAY_POSTGRES_PORT'];
    names.push('TEMPORAL_PORT', 'TEMPORAL_UI_PORT');
    ports = Object.fromEntries(await Promise.all(names.map(async (name) => [name, String(await findFreePort())])));
    stack = await start(output);
    let ended = false;
    void stack.exited.then(() => (ended = true));
    await waitUntil(async () => readDemo(), {
      timeoutMs: TIMEOUT_MS,
      abandoned: () => (ended ? new Error(`npm start ended:\n${output.join('\n')}`) : undefined),
    });
  });

  after(async () => {
    await stack.stop(TIMEOUT_MS);
    await rm(home, { recursive: true });
  });

  it('tells in demo.json how everything is reached, for its owner only', async () => {
    const demo = readDemo();
    expect(demo).to.have.all.keys(DEMO_KEYS);
    for (const url of [demo.base_url, demo.text_base_url, demo.simulator_url]) {
      expect((await fetch(url)).status).to.be.below(500);
    }
    expect((await stat(join(home, 'demo.json'))).mode & 0o777).to.equal(0o600);
  });

  it('has accounts for every case', async () => {
    expect(await balanceOf('funded')).to.deep.equal({ topped_up: true, funded: 1_000, signup: 0 });
    expect(await balanceOf('second')).to.deep.equal({ topped_up: true, funded: 1_000, signup: 0 });
    expect(await balanceOf('free')).to.deep.equal({ topped_up: false, funded: 0, signup: 5 });
    expect(await balanceOf('empty')).to.deep.equal({ topped_up: true, funded: 0, signup: 0 });
  });

  it('refuses to run a second time on the same folder, and leaves the first alone', async () => {
    const lines: string[] = [];
    const second = await start(lines);
    expect(await second.exited).to.equal(1);
    expect(lines.join('\n')).to.contain('is running').and.contain('GENWAY_HOME');
    expect(existsSync(join(home, 'demo.json'))).to.equal(true);
  });

  it('brings a process back that was killed', async () => {
    const before = pidOf('api');
    process.kill(before, 'SIGKILL');
    await waitUntil(async () => expect(pidOf('api')).not.to.equal(before), { timeoutMs: TIMEOUT_MS });
    await waitUntil(() => fetch(readDemo().base_url), { timeoutMs: TIMEOUT_MS });
  });

  it('stops everything on SIGTERM, takers of work first, and takes demo.json away', async () => {
    const pids = PROCESSES.map(pidOf);
    await stack.stop(TIMEOUT_MS);
    expect(await stack.exited).to.equal(0);
    expect(await Promise.all(pids.map(processStart))).to.deep.equal(PROCESSES.map(() => undefined));
    expect(existsSync(join(home, 'demo.json'))).to.equal(false);
    expect(existsSync(join(home, 'pids.json'))).to.equal(false);
    const stops = output.flatMap((line) => (line.includes(' stopping signal=') ? [line.split(' ')[0]] : []));
    expect(stops.slice(0, 2)).to.have.members(['api', 'text']);
    expect(stops.slice(2)).to.deep.equal(['worker', 'simulator']);
  });
});
