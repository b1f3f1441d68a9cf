/** Charges that arrive after others have spent the limit of their key. */
import { setTimeout as sleep } from 'node:timers/promises';
import { waitUntil } from '../../../bin/stack/wait-until.ts';
import { openAccount } from '../../stack/accounts.ts';
import { tryToAsk } from '../../stack/client.ts';
import { type FaultKind, membersOf, seconds, strikeOne } from './fault.ts';
import { cutOffDuring } from './network.ts';

/** Enough for about five requests. */
const LIMIT_USD = 0.001;
const SLOW_MS = 4_000;
const UNTIL_HELD_MS = 1_000;
const MAX_REQUESTS = 20;
const OPEN_TIMEOUT_MS = 60_000;

/** After 10 s the others take the process for dead, release what it holds of the key, and spend the limit. */
export const LIMIT_CUT: FaultKind = {
  meaning: 'a text process is cut off PostgreSQL with slow answers for a limited key, whose limit others spend',
  leastMs: 20_000,
  mostMs: 30_000,
  strike: (stage, random, lastsMs) =>
    strikeOne(stage, random, membersOf(stage, 'text'), async (victim) => {
      const { apiUrls, adminToken } = stage;
      const open = () => openAccount({ apiUrl: random.pick(apiUrls), adminToken }, 1, { usage_limit_usd: LIMIT_USD });
      const { apiKey } = await waitUntil(open, { timeoutMs: OPEN_TIMEOUT_MS, pauseMs: 500 });
      const slow = Array.from({ length: MAX_REQUESTS }, () => askForText(victim.url, apiKey, SLOW_MS));
      await sleep(UNTIL_HELD_MS);
      const spend = async (): Promise<void> => {
        const endsAtMs = performance.now() + lastsMs;
        while (performance.now() < endsAtMs) {
          const other = random.shuffled(membersOf(stage, 'text')()).find((one) => one !== victim && one.isUp());
          if (other) await askForText(other.url, apiKey, 0);
          await sleep(500);
        }
      };
      await cutOffDuring(victim, 'postgres', spend);
      const answers = await Promise.all(slow);
      const count = answers.filter((answer) => answer?.status === 200).length;
      return `cut ${victim.name} off postgres for ${seconds(lastsMs)} with ${count} answers for a limited key`;
    }),
};

function askForText(url: string, apiKey: string, delayMs: number): ReturnType<typeof tryToAsk> {
  const content = `Tell a story. [sim:tokens=200,prompt=100,cached=0,delay_ms=${delayMs}]`;
  return tryToAsk(`${url}/v1/chat/completions`, {
    token: apiKey,
    body: { model: 'textc-M3', max_tokens: 200, messages: [{ role: 'user', content }] },
  });
}
