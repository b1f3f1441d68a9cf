import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { Agent, request } from 'undici';
import type { RunningProcess } from '../../bin/stack/child-process.ts';
import { startNode } from '../../bin/stack/node-process.ts';
import { findFreePort } from '../../bin/stack/ports.ts';
import { waitUntil } from '../../bin/stack/wait-until.ts';
import { startTcpBalancer, type TcpProxy } from '../../lab/stack/tcp-proxy.ts';
import { eventually, PATIENCE_MS } from '../support/eventually.ts';
import { testPrograms } from '../support/services.ts';
import { useTestStack } from '../support/stack.ts';

const POLL_MS = 50;
const CLIENTS = 4;

describe('a rolling restart of two processes behind one address', () => {
  const stack = useTestStack();
  /** By port. */
  const running = new Map<number, RunningProcess>();
  const ready = new Set<number>();
  let balancer: TcpProxy;
  let apiKey: string;
  const over = new AbortController();

  before(async () => {
    ({ apiKey } = await stack.createAccount());
    const ports = [await findFreePort(), await findFreePort()];
    await Promise.all(ports.map(start));
    for (const port of ports) void pollReadiness(port);
    balancer = await startTcpBalancer(() => [...ready].map((port) => `127.0.0.1:${port}`));
    await eventually(() => ready.size === 2);
  });
  after(async () => {
    over.abort();
    await balancer.close();
    await Promise.all([...running.values()].map((process) => process.stop(60_000)));
  });

  async function start(port: number): Promise<void> {
    const child = await startNode(join(await testPrograms(), 'bin/text.js'), [], {
      env: { ...stack.environment, GENWAY_TEXT_PORT: String(port), GENWAY_DRAIN_S: '3' },
      output: () => {},
    });
    running.set(port, child);
  }

  /** As load balancers do. */
  async function pollReadiness(port: number): Promise<void> {
    while (!over.signal.aborted) {
      const isReady = await request(`http://127.0.0.1:${port}/readyz`).then(
        async ({ statusCode, body }) => {
          await body.dump();
          return statusCode === 200;
        },
        () => false,
      );
      if (isReady) ready.add(port);
      else ready.delete(port);
      await sleep(POLL_MS);
    }
  }

  /** Asks until `isDone`, on connections that are kept. @returns the statuses of the answers, or the errors */
  async function askOn(isDone: () => boolean): Promise<readonly unknown[]> {
    const agent = new Agent();
    const outcomes: unknown[] = [];
    while (!isDone()) {
      const outcome = await request(`http://127.0.0.1:${balancer.port}/v1/chat/completions`, {
        method: 'POST',
        dispatcher: agent,
        headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
        body: JSON.stringify({
          model: 'textd-v2.5',
          max_tokens: 100,
          messages: [{ role: 'user', content: 'x [sim:tokens=5,delay_ms=20]' }],
        }),
      }).then(
        async ({ statusCode, body }) => {
          await body.dump();
          return statusCode;
        },
        (error: unknown) => error,
      );
      outcomes.push(outcome);
    }
    await agent.close();
    return outcomes;
  }

  it('answers every request, on new connections and on kept ones', async () => {
    let isDone = false;
    const asking = Promise.all(Array.from({ length: CLIENTS }, () => askOn(() => isDone)));
    for (const [port, child] of running) {
      process.kill(child.pid, 'SIGTERM');
      expect(await child.exited).to.equal(0);
      await start(port);
      await waitUntil(async () => expect(ready.size).to.equal(2), { timeoutMs: PATIENCE_MS });
    }
    isDone = true;
    const outcomes = (await asking).flat();
    expect(outcomes).to.have.length.above(20);
    expect(outcomes.filter((outcome) => outcome !== 200)).to.deep.equal([]);
  });
});
