import { existsSync } from 'node:fs';
import { rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import type { RunningProcess } from '../../../bin/stack/child-process.ts';
import { processStart } from '../../../bin/stack/process-identity.ts';
import { waitUntil } from '../../../bin/stack/wait-until.ts';
import {
  newPlace,
  type Place,
  readDemo,
  readPids,
  startBuilt,
  startFile,
  TIMEOUT_MS,
  waitUntilReady,
} from '../../support/local-stack.ts';
import { runsAll } from '../../support/properties.ts';
import { testWorkflowBundle } from '../../support/services.ts';

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

describe('npm start', function () {
  this.timeout(TIMEOUT_MS);

  const output: string[] = [];
  let place: Place;
  let home: string;
  let stack: RunningProcess;

  const pidOf = (name: string): number => readPids(place)[name]?.pid ?? 0;

  async function balanceOf(account: string): Promise<unknown> {
    const { base_url, admin_token, accounts } = readDemo(place);
    const response = await fetch(`${base_url}/admin/v1/accounts/${accounts[account]?.account_id}`, {
      headers: { authorization: `Bearer ${admin_token}` },
    });
    const { data } = (await response.json()) as { data: { topped_up: boolean; balances: Record<string, number> } };
    return { topped_up: data.topped_up, funded: data.balances['funded_usd'], signup: data.balances['signup_usd'] };
  }

  before(async () => {
    place = await newPlace();
    home = place.GENWAY_HOME;
    stack = runsAll
      ? await startFile('bin/start.ts', place, output)
      : await startBuilt({ ...place, GENWAY_WORKFLOW_BUNDLE: await testWorkflowBundle() }, output);
    await waitUntilReady(stack, place, output);
  });

  after(async () => {
    await stack.stop(TIMEOUT_MS);
    await rm(home, { recursive: true });
  });

  it('writes every address and key to demo.json, for its owner only', async () => {
    const demo = readDemo(place);
    expect(demo).to.have.all.keys(DEMO_KEYS);
    for (const url of [demo.base_url, demo.text_base_url, demo.simulator_url]) {
      expect((await fetch(url)).status).to.be.below(500);
    }
    expect((await stat(join(home, 'demo.json'))).mode & 0o777).to.equal(0o600);
  });

  it('creates demo accounts with funded credit, with signup credit and without credit', async () => {
    expect(await balanceOf('funded')).to.deep.equal({ topped_up: true, funded: 1_000, signup: 0 });
    expect(await balanceOf('second')).to.deep.equal({ topped_up: true, funded: 1_000, signup: 0 });
    expect(await balanceOf('free')).to.deep.equal({ topped_up: false, funded: 0, signup: 5 });
    expect(await balanceOf('empty')).to.deep.equal({ topped_up: true, funded: 0, signup: 0 });
  });

  it('moderates with the simulator', async () => {
    const { base_url, accounts } = readDemo(place);
    const response = await fetch(`${base_url}/v1/moderations`, {
      method: 'POST',
      headers: { authorization: `Bearer ${accounts['funded']?.api_key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ input: ['Hello', 'flag me'] }),
    });
    const { results } = (await response.json()) as { results: readonly { readonly flagged: boolean }[] };
    expect(results.map(({ flagged }) => flagged)).to.deep.equal([false, true]);
  });

  it('refuses to run a second time on the same folder, and does not disturb the first', async () => {
    const lines: string[] = [];
    const second = await startBuilt(place, lines);
    expect(await second.exited).to.equal(1);
    expect(lines.join('\n')).to.contain('is already running').and.contain('GENWAY_HOME');
    expect(existsSync(join(home, 'demo.json'))).to.equal(true);
  });

  it('refuses the ports of another stack, and names the variable that moves the first of them', async () => {
    const lines: string[] = [];
    const other = await newPlace();
    const second = await startBuilt({ ...place, GENWAY_HOME: other.GENWAY_HOME }, lines);
    expect(await second.exited).to.equal(1);
    expect(lines.join('\n')).to.contain('is in use').and.contain('set GENWAY_API_PORT to another port');
    await rm(other.GENWAY_HOME, { recursive: true });
  });

  it('restarts a killed process', async () => {
    const before = pidOf('simulator');
    process.kill(before, 'SIGKILL');
    await waitUntil(async () => expect(pidOf('simulator')).not.to.equal(before), { timeoutMs: TIMEOUT_MS });
    await waitUntil(() => fetch(readDemo(place).simulator_url), { timeoutMs: TIMEOUT_MS });
  });

  it('stops everything on SIGTERM, first the processes that accept work, and deletes demo.json', async () => {
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
