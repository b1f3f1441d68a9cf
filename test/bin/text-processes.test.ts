import { join } from 'node:path';
import { expect } from 'chai';
import { Agent, request } from 'undici';
import type { RunningProcess } from '../../bin/stack/child-process.ts';
import { startNode } from '../../bin/stack/node-process.ts';
import { findFreePort } from '../../bin/stack/ports.ts';
import { eventually } from '../support/eventually.ts';
import { runProgram } from '../support/program.ts';
import { testPrograms } from '../support/services.ts';
import { useTestStack } from '../support/stack.ts';

const PROCESSES = 2;
const PATH = '/v1/chat/completions';
/** Each request opens a new connection, which goes to the next process in turn. */
const agent = new Agent({ pipelining: 0 });

interface LogLine {
  readonly pid: number;
  readonly msg: string;
  readonly route?: string;
}

describe('several text processes behind one port', () => {
  const stack = useTestStack();
  let apiKey: string;
  let accountId: string;
  let environment: NodeJS.ProcessEnv;
  let url: string;
  let primary: RunningProcess;
  let lines: LogLine[];

  before(startPrimary);
  beforeEach(async () => {
    if (!runs(primary.pid)) await startPrimary();
    // Without allowances of an earlier test, which a process keeps for a minute.
    ({ apiKey, accountId } = await stack.createAccount());
  });
  after(() => primary.kill());

  async function startPrimary(): Promise<void> {
    const port = await findFreePort();
    url = `http://127.0.0.1:${port}`;
    environment = {
      ...stack.environment,
      GENWAY_TEXT_PORT: String(port),
      GENWAY_TEXT_PROCESSES: String(PROCESSES),
      GENWAY_SHUTDOWN_GRACE_S: '20',
      // Names the process of each request.
      GENWAY_LOG_LEVEL: 'debug',
    };
    lines = [];
    primary = await startNode(join(await testPrograms(), 'bin/text.js'), [], {
      env: environment,
      output: (line) => {
        if (line.startsWith('{')) lines.push(JSON.parse(line));
      },
    });
    await eventually(() => lines.some(({ msg }) => msg === 'all text processes are listening'));
  }

  /** The ids of the processes that have started to listen, in that order. */
  const listened = (): number[] => lines.filter(({ msg }) => msg === 'listening').map(({ pid }) => pid);
  const serving = (): number[] => listened().filter(runs);

  /** The processes that have allowances of the account, by their ids in the database. */
  async function heldBy(): Promise<Set<string>> {
    return new Set(await stack.database('text_allowances').where({ account_id: accountId }).pluck('process_id'));
  }

  async function ask(directives = ''): Promise<string> {
    const { statusCode, body } = await request(url + PATH, {
      method: 'POST',
      dispatcher: agent,
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: 'textd-v2.5',
        stream: directives !== '',
        max_tokens: 1_000,
        messages: [{ role: 'user', content: `x [sim:${directives}]` }],
      }),
    });
    expect(statusCode).to.equal(200);
    return body.text();
  }

  /** Starts a stream of some seconds in each process. @returns when all have started, with their texts */
  async function beginStreams(): Promise<readonly Promise<string>[]> {
    const streams = Array.from({ length: PROCESSES }, () => ask('tokens=20,chunk_ms=100'));
    let hasOneEnded = false;
    void Promise.race(streams).finally(() => (hasOneEnded = true));
    await eventually(async () => (await heldBy()).size === PROCESSES);
    expect(hasOneEnded).to.equal(false);
    return streams;
  }

  async function answered(): Promise<number> {
    const { body } = await request(`${url}/metrics`, {
      dispatcher: agent,
      headers: { authorization: `Bearer ${stack.adminToken}` },
    });
    const sample = `genway_http_request_duration_seconds_count{method="POST",route="${PATH}",status="200"}`;
    const line = (await body.text()).split('\n').find((one) => one.startsWith(sample));
    return Number(line?.slice(sample.length) ?? 0);
  }

  async function expectEnded(pids: readonly number[]): Promise<void> {
    await eventually(() => !pids.some(runs));
  }

  it('answer requests in turn, and each records its own row in `processes`', async () => {
    await Promise.all(await beginStreams());
    const answering = () => new Set(lines.filter(({ route }) => route === PATH).map(({ pid }) => pid));
    await eventually(() => answering().size === PROCESSES);
    expect(listened()).to.have.members([...answering()]);
    expect(listened()).to.not.include(primary.pid);
  });

  it('continue to report all metrics while a process is frozen', async () => {
    const before = await answered();
    for (let asked = 0; asked < 5; asked += 1) await ask();
    await eventually(async () => (await answered()) === before + 5);
    const [frozen = 0] = serving();
    process.kill(frozen, 'SIGSTOP');
    try {
      // One connection may go to the frozen process, and waits there.
      expect(await Promise.any([answered(), answered()])).to.equal(before + 5);
    } finally {
      process.kill(frozen, 'SIGCONT');
    }
  });

  it('reload the files in every process on SIGHUP, and continue', async () => {
    const before = serving();
    process.kill(primary.pid, 'SIGHUP');
    for (let asked = 0; asked < 4; asked += 1) await ask();
    expect(serving()).to.deep.equal(before).and.have.length(PROCESSES);
  });

  it('do not start when one of them fails to start', async () => {
    const { code, stderr } = await runProgram('text', [], environment);
    expect(code).to.equal(1);
    expect(stderr).to.include('EADDRINUSE');
  });

  it('report the sums of all metrics from each process, and no counter falls when a process dies, which is replaced while the others serve', async () => {
    const before = await answered();
    for (let asked = 0; asked < 7; asked += 1) await ask();
    await eventually(async () => (await answered()) === before + 7);
    for (let process = 0; process < PROCESSES; process += 1) expect(await answered()).to.equal(before + 7);
    const [victim = 0] = serving();
    process.kill(victim, 'SIGKILL');
    await expectEnded([victim]);
    expect(await answered()).to.equal(before + 7);
    for (let asked = 0; asked < 10; asked += 1) await ask();
    await eventually(() => serving().length === PROCESSES);
    expect(runs(primary.pid)).to.equal(true);
    for (let asked = 0; asked < 4; asked += 1) await ask();
    await eventually(async () => (await answered()) === before + 21);
  });

  it('all stop in order on SIGTERM, with their streams, and end with code 0', async () => {
    const streams = await beginStreams();
    const stopped = primary.stop(60_000);
    for (const text of await Promise.all(streams)) expect(text).to.match(/data: \[DONE\]\s*$/);
    await stopped;
    expect(await primary.exited).to.equal(0);
    expect(listened().some(runs)).to.equal(false);
    expect(await heldBy()).to.deep.equal(new Set());
  });

  it('all stop in order when the primary dies', async () => {
    const streams = await beginStreams();
    process.kill(primary.pid, 'SIGKILL');
    for (const text of await Promise.all(streams)) expect(text).to.match(/data: \[DONE\]\s*$/);
    await expectEnded(listened());
    expect(await heldBy()).to.deep.equal(new Set());
  });
});

/** Whether the process exists. */
function runs(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
