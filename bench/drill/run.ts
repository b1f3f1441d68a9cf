/** `npm run drill`: does harm to a stack under load, then checks that nothing was lost, doubled or left over. */
import { mkdtemp, rm } from 'node:fs/promises';
import { randomInt } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runDrill } from './drill.ts';
import { type DrillOptions, parseOptions, USAGE } from './options.ts';
import { describeChecks, describeVerdict } from './report.ts';

// An interrupted drill must not leave its servers behind: stopping this process stops its children.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));

const options = readOptions();
const home = await mkdtemp(join(tmpdir(), 'genway-drill-'));
const { durationMs, faults, kinds, seed } = options;
console.log(
  `${durationMs / 60_000} minutes with ${faults} faults: ${kinds.join(', ')}; --seed ${seed}; logs in ${home}`,
);
const results = await runDrill(options, { home, print: console.log });
for (const line of describeChecks(results)) console.log(line);
const failed = results.some(({ failures }) => failures.length > 0);
if (!failed) await rm(home, { recursive: true, force: true });
console.log(describeVerdict(results));
process.exit(failed ? 1 : 0);

function readOptions(): DrillOptions {
  try {
    return parseOptions(process.argv.slice(2), randomInt(2 ** 32));
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}\n${USAGE}`);
    return process.exit(2);
  }
}
