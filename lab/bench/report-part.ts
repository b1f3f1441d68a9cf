/** Prints the figures of one part of a benchmark, with what they depend on: the machine's speed and its kernel. */
import { readFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import { rounded } from './statistics.ts';

/** A part whose machine changed its speed by more is not comparable with others. */
const MAX_SPEED_CHANGE = 0.15;
const LOOP_ROUNDS = 100_000_000;

/** Measures a part, and prints it as one JSON line. */
export async function reportPart(part: string, measure: () => Promise<object>): Promise<void> {
  const [beforeMs, overflows] = [fixedLoopMs(), await listenOverflows()];
  const figures = await measure();
  const afterMs = fixedLoopMs();
  console.log(
    JSON.stringify({
      part,
      ...figures,
      // Connections that the kernel dropped because a server did not accept them in time.
      listen_overflows: (await listenOverflows()) - overflows,
      fixed_loop_ms: [rounded(beforeMs, 0), rounded(afterMs, 0)],
      is_steady: Math.abs(afterMs / beforeMs - 1) <= MAX_SPEED_CHANGE,
      node: process.version,
      cores: cpus().length,
    }),
  );
}

/** The time of the same work on one core, in milliseconds. */
function fixedLoopMs(): number {
  const startedAt = performance.now();
  let sum = 0;
  for (let round = 0; round < LOOP_ROUNDS; round += 1) sum = (sum + round * round) | 0;
  if (!Number.isInteger(sum)) throw new Error('the loop computed no integer');
  return performance.now() - startedAt;
}

/** Connections of all servers that the kernel dropped since it started; 0 where it does not count them. */
async function listenOverflows(): Promise<number> {
  const lines = (await readFile('/proc/net/netstat', 'utf8').catch(() => '')).split('\n');
  const [names = '', values = ''] = lines.filter((line) => line.startsWith('TcpExt:'));
  const index = names.split(' ').indexOf('ListenOverflows');
  return index === -1 ? 0 : Number(values.split(' ')[index]);
}
