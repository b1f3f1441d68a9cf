/**
 * A client that is not involved in an attack, in a process of its own, so that the attacker's load is not mistaken for
 * the gateway's. It repeats a request until it is stopped, and then reports the duration of each answer.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import Joi from 'joi';
import { call } from './attacker.ts';

const PAUSE_MS = 10;

const { url, apiKey } = Joi.attempt(
  JSON.parse(process.argv[2] ?? ''),
  Joi.object<{ url: string; apiKey: string }>({
    url: Joi.string().required(),
    apiKey: Joi.string().required(),
  }).required(),
);
const stopped = new AbortController();
process.once('message', () => stopped.abort());

async function ask(): Promise<number> {
  const startedAt = performance.now();
  const { status, text } = await call(url, apiKey, {});
  if (status !== 200) throw new Error(`the bystander was answered ${status}: ${text}`);
  return performance.now() - startedAt;
}

// The attack starts once this client runs.
await ask();
process.send?.('ready');
const tookMs: number[] = [];
do {
  tookMs.push(await ask());
  await sleep(PAUSE_MS);
} while (!stopped.signal.aborted);
process.send?.(tookMs, () => process.exit(0));
