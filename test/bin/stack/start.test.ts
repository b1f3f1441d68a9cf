import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { RunningProcess } from '../../../bin/stack/child-process.ts';
import { startNode } from '../../../bin/stack/node-process.ts';
import { findFreePort } from '../../../bin/stack/ports.ts';
import { processStart } from '../../../bin/stack/process-identity.ts';
import { waitUntil } from '../../../bin/stack/wait-until.ts';
import { childEnvironment } from '../../../config.ts';
import { createTestDatabase } from '../../support/database.ts';
import { runsAll } from '../../support/properties.ts';
import { createTestNamespace, testPrograms, testTemporalAddress, testWorkflowBundle } from '../../support/services.ts';

const PROCESSES = ['supervisor', 'postgres', 'temporal', 'simulator', 'api', 'text', 'worker'];
const PORTS = [
  'GENWAY_API_PORT',
  'GENWAY_TEXT_PORT',
  'GENWAY_SIMULATOR_PORT',
  'GENWAY_POSTGRES_PORT',
  'TEMPORAL_PORT',
  'TEMPORAL_UI_PORT',
];
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
/** A busy machine takes long to start six processes. */
const TIMEOUT_MS = 240_000;

interface Demo {
  readonly base_url: string;
  readonly text_base_url: string;
  readonly temporal_address: string;
  readonly database_url: string;
  readonly simulator_url: string;
  readonly admin_token: string;
  readonly accounts: Readonly<Record<string, { readonly account_id: string; readonly api_key: string }>>;
}

type Environment = Readonly<Record<string, string>>;

/** A state folder and unused ports. */
async function newPlace(): Promise<Environment & { readonly GENWAY_HOME: string }> {
  const ports = PORTS.map(async (name) => [name, String(await findFreePort())] as const);
  return {
    ...Object.fromEntries(await Promise.all(ports)),
    GENWAY_HOME: await mkdtemp(join(tmpdir(), 'genway-test-')),
  };
}

/** Starts the stack as `npm start` does with installed dependencies, but from built programs, which load in a third of the time. */
async function startBuilt(place: Environment, lines: string[]): Promise<RunningProcess> {
  return run(join(await testPrograms(), 'bin/start.js'), place, lines);
}

async function run(file: string, place: Environment, lines: string[]): Promise<RunningProcess> {
  return startNode(file, [], {
    env: childEnvironment({ DATABASE_URL: '', TEMPORAL_ADDRESS: '', ...place }),
    output: (line) => lines.push(line),
  });
}

async function waitUntilReady(stack: RunningProcess, place: Environment, lines: readonly string[]): Promise<void> {
  let ended = false;
  void stack.exited.then(() => (ended = true));
  await waitUntil(async () => readDemo(place), {
    timeoutMs: TIMEOUT_MS,
    abandoned: () => (ended ? new Error(`npm start ended:\n${lines.join('\n')}`) : undefined),
  });
}

function readState(place: Environment, file: string): string {
  return readFileSync(join(place['GENWAY_HOME'] ?? '', file), 'utf8');
}

function readDemo(place: Environment): Demo {
  return JSON.parse(readState(place, 'demo.json'));
}

function readPids(place: Environment): Readonly<Record<string, { readonly pid: number }>> {
  return JSON.parse(readState(place, 'pids.json'));
}

/** The status with which a stack answers a request for an account's balance with that key. */
async function statusFor(demo: Demo, apiKey: string | undefined): Promise<number> {
  const response = await fetch(`${demo.base_url}/v1/balance`, { headers: { authorization: `Bearer ${apiKey}` } });
  return response.status;
}

describe('npm start', function () {
  this.timeout(TIMEOUT_MS);

  const output: string[] = [];
  let place: Awaited<ReturnType<typeof newPlace>>;
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
      ? await run('bin/start.ts', place, output)
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

  it('runs next to another stack on other ports and in another folder, even on existing servers', async () => {
    const [database, temporalAddress] = await Promise.all([createTestDatabase(), testTemporalAddress()]);
    const other = {
      ...(await newPlace()),
      DATABASE_URL: database.url,
      TEMPORAL_ADDRESS: temporalAddress,
      TEMPORAL_NAMESPACE: await createTestNamespace(),
      GENWAY_WORKFLOW_BUNDLE: await testWorkflowBundle(),
    };
    const lines: string[] = [];
    const second = await startBuilt(other, lines);
    await waitUntilReady(second, other, lines);
    const [mine, its] = [readDemo(place), readDemo(other)];
    expect(its).to.include({ database_url: database.url, temporal_address: temporalAddress });
    expect(readPids(other)).to.have.all.keys('supervisor', 'simulator', 'api', 'text', 'worker');
    const [myKey, itsKey] = [mine, its].map(({ accounts }) => accounts['funded']?.api_key);
    const statuses = [statusFor(mine, myKey), statusFor(its, itsKey), statusFor(mine, itsKey), statusFor(its, myKey)];
    expect(await Promise.all(statuses)).to.deep.equal([200, 200, 401, 401]);
    await second.stop(TIMEOUT_MS);
    expect(await second.exited).to.equal(0);
    expect(await statusFor(mine, myKey)).to.equal(200);
    await database.drop();
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
