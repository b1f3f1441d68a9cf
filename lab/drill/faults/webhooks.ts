/** A webhook endpoint that accepts requests and never answers, among others that are healthy. */
import { setTimeout as sleep } from 'node:timers/promises';
import { type FaultKind, seconds, strikeOne } from './fault.ts';

export const WEBHOOKS: FaultKind = {
  meaning: 'one webhook endpoint hangs, beside others that do not',
  leastMs: 5_000,
  mostMs: 20_000,
  strike: (stage, random, lastsMs) => {
    const endpoints = () =>
      stage.receiver.paths().map((path) => ({ name: `endpoint ${path}`, path, isUp: () => true }));
    return strikeOne(stage, random, endpoints, async ({ name, path }) => {
      const goOn = stage.receiver.hang(path);
      await sleep(lastsMs);
      goOn();
      return `let ${name} hang for ${seconds(lastsMs)}`;
    });
  },
};
