/**
 * Measures the cost of a dead upstream through the whole gateway, with key, hold and settlement: requests to a model
 * whose first route is dead alternate with requests to a model that has only the other. Prints one JSON line.
 */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findFreePort } from '../../bin/stack/ports.ts';
import { DEFAULT_CATALOGUE } from '../../catalogue/load.ts';
import { measureByTurns } from './load/by-turns.ts';
import { MODEL, startTextStack } from './text-stack.ts';

const PAIRS = 2_000;
const WARM_UP_PAIRS = 200;
/** A model of the same family as {@link MODEL}. */
const WITH_DEAD = 'textd-v2.6-flash';
const ROUTES = `routes: [{ provider: dead, format: chat-completions }, { provider: simulator, format: chat-completions }]`;

const folder = await mkdtemp(join(tmpdir(), 'genway-dead-'));
const catalogue = join(folder, 'catalogue.yaml');
const text = await readFile(DEFAULT_CATALOGUE, 'utf8');
await writeFile(catalogue, text.replace(`- id: ${WITH_DEAD}\n`, `- id: ${WITH_DEAD}\n          ${ROUTES}\n`));
const dead = { name: 'dead', base_url: `http://127.0.0.1:${await findFreePort()}`, api_key: 'none' };
const stack = await startTextStack({ moreUpstreams: () => [dead], catalogue });
try {
  const either = { alone: () => ask(MODEL), withDead: () => ask(WITH_DEAD) };
  await measureByTurns(either, WARM_UP_PAIRS);
  const figures = await measureByTurns(either, PAIRS);
  console.log(JSON.stringify({ dead_upstream: 'refuses connections, through the whole gateway', ...figures }));
} finally {
  await stack.stop();
  await rm(folder, { recursive: true, force: true });
}

async function ask(model: string): Promise<void> {
  const { statusCode, body } = await stack.ask(stack.gateway, undefined, model);
  await body.dump();
  if (statusCode !== 200) throw new Error(`a request to ${model} was answered ${statusCode}`);
}
