/** Create calls, in a closed loop of clients or at a steady rate. */
import { ask } from '../../stack/client.ts';
import { arriveAt } from '../load/steady.ts';

export interface Creates {
  readonly perSecond: number;
  /** The duration of each call; in an open loop from when it was due, in milliseconds. */
  readonly durationsMs: readonly number[];
  /** Calls that were refused or cut off. */
  readonly failed: number;
}

export interface CreateTarget {
  readonly apiUrl: string;
  readonly apiKey: string;
}

/** Each of the clients creates one task after another. @throws Error when a call is refused */
export async function createInClosedLoop(
  target: CreateTarget,
  { clients, count }: { readonly clients: number; readonly count: number },
): Promise<Creates> {
  const durationsMs: number[] = [];
  let left = count;
  const client = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      const startedAt = performance.now();
      await create(target);
      durationsMs.push(performance.now() - startedAt);
    }
  };
  const startedAt = performance.now();
  await Promise.all(Array.from({ length: clients }, client));
  return { perSecond: (count * 1_000) / (performance.now() - startedAt), durationsMs, failed: 0 };
}

/** Creates tasks at a steady rate, whether the earlier ones were answered or not, as independent clients do. */
export async function createInOpenLoop(
  target: CreateTarget,
  { perSecond, seconds }: { readonly perSecond: number; readonly seconds: number },
): Promise<Creates> {
  const startedAt = performance.now();
  const isAnswered = (): Promise<boolean> =>
    create(target).then(
      () => true,
      () => false,
    );
  const calls = await arriveAt(perSecond, seconds, isAnswered);
  const durationsMs = calls.filter(({ result }) => result).map(({ latencyMs }) => latencyMs);
  const rate = (durationsMs.length * 1_000) / (performance.now() - startedAt);
  return { perSecond: rate, durationsMs, failed: calls.length - durationsMs.length };
}

async function create({ apiUrl, apiKey }: CreateTarget): Promise<void> {
  const { status, text } = await ask(`${apiUrl}/v1/videos/tasks`, {
    token: apiKey,
    body: { model: 'vidone-3.0', prompt: 'A lighthouse [sim:render_ms=100]', duration: 2 },
  });
  if (status !== 201) throw new Error(`a create call was refused: ${text}`);
}
