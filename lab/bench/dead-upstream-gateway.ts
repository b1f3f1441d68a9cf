/**
 * Measures the cost of a dead upstream through the whole gateway, with the key, the hold and the settlement of every request: requests to a
 * model whose first route is dead take turns with requests to one that only has the other. Prints one JSON line.
 */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findFreePort } from '../../bin/stack/ports.ts';
import { DEFAULT_CATALOGUE } from '../../catalogue/load.ts';
import { percentile, rounded } from './statistics.ts';
import { MODEL, startTextStack } from './text-stack.ts';

const PAIRS = 2_000;
const WARM_UP_PAIRS = 200;
const CLIENTS = 4;
/** A model of the same family as {@link MODEL}. */
const WITH_DEAD = 'textd-v2.6-flash';
const ROUTES = `routes: [{ provider: dead, format: chat-completions }, { provider: simulator, format: chat-completions }]`;

// An interrupted run must stop its servers.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

const folder = await mkdtemp(join(tmpdir(), 'genway-dead-'));
const catalogue = join(folder, 'catalogue.yaml');
const text = await readFile(DEFAULT_CATALOGUE, 'utf8');
await writeFile(catalogue, text.replace(`- id: ${WITH_DEAD}\n`, `- id: ${WITH_DEAD}\n          ${ROUTES}\n`));
const dead = { name: 'dead', base_url: `http://127.0.0.1:${await findFreePort()}`, api_key: 'none' };
const stack = await startTextStack({ moreUpstreams: [dead], catalogue });
try {
  await measure(WARM_UP_PAIRS);
  const { alone, withDead } = await measure(PAIRS);
  const at = (share: number) => [percentile(alone, share), percentile(withDead, share)] as const;
  const [[aloneP50, deadP50], [aloneP95, deadP95]] = [at(0.5), at(0.95)];
  console.log(
    JSON.stringify({
      dead_upstream: 'refuses connections, through the whole gateway',
      added_p50_ms: rounded(deadP50 - aloneP50, 2),
      added_p95_ms: rounded(deadP95 - aloneP95, 2),
      p95_ms: rounded(deadP95, 2),
      p95_alone_ms: rounded(aloneP95, 2),
      requests_each: PAIRS,
    }),
  );
} finally {
  await stack.stop();
  await rm(folder, { recursive: true, force: true });
}

/** Each client sends one request to each model in turn, the other one first each time. @returns milliseconds of each */
async function measure(pairs: number): Promise<{ readonly alone: number[]; readonly withDead: number[] }> {
  const latencies = { alone: [] as number[], withDead: [] as number[] };
  const kinds = [
    { model: MODEL, taken: latencies.alone },
    { model: WITH_DEAD, taken: latencies.withDead },
  ] as const;
  await Promise.all(
    Array.from({ length: CLIENTS }, async () => {
      for (let pair = 0; pair < pairs / CLIENTS; pair += 1) {
        for (const { model, taken } of pair % 2 === 0 ? kinds : kinds.toReversed()) {
          const startedAt = performance.now();
          const { statusCode, body } = await stack.ask(stack.gateway, undefined, model);
          await body.dump();
          if (statusCode !== 200) throw new Error(`a request to ${model} was answered ${statusCode}`);
          taken.push(performance.now() - startedAt);
        }
      }
    }),
  );
  return latencies;
}
