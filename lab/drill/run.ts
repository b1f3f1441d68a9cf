/** `npm run drill`: damages a stack under load, then checks that nothing was lost, doubled or left over. */
import { mkdtemp, rm } from 'node:fs/promises';
import { randomInt } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from '../stack/build.ts';
import type { Built } from '../stack/stack.ts';
import type { CheckResult } from './checks/check.ts';
import { runDrill } from './drill.ts';
import { parseOptions, USAGE } from './options.ts';
import { describeChecks, describeVerdict } from './report.ts';
import { runVendorDrill } from './vendors/drill.ts';
import { parseVendorOptions, VENDORS_USAGE } from './vendors/options.ts';

// An interrupted drill must not leave its servers behind: stopping this process stops its children.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));

const args = process.argv.slice(2);
const [title, run] = args.includes('--vendors') ? vendorDrill() : usualDrill();
const home = await mkdtemp(join(tmpdir(), 'genway-drill-'));
console.log(`${title}; logs in ${home}`);
const results = await run({ home, built: await build(home), print: console.log });
for (const line of describeChecks(results)) console.log(line);
const failed = results.some(({ failures }) => failures.length > 0);
if (!failed) await rm(home, { recursive: true, force: true });
console.log(describeVerdict(results));
process.exit(failed ? 1 : 0);

/** A drill, and its report. */
type Drill = readonly [
  title: string,
  run: (place: { home: string; built: Built; print: (line: string) => void }) => Promise<readonly CheckResult[]>,
];

function usualDrill(): Drill {
  const options = read(parseOptions, USAGE);
  const { durationMs, faults, kinds, seed } = options;
  const title = `${durationMs / 60_000} minutes with ${faults} faults: ${kinds.join(', ')}; --seed ${seed}`;
  return [title, (place) => runDrill(options, place)];
}

function vendorDrill(): Drill {
  const options = read(parseVendorOptions, VENDORS_USAGE);
  const { copies, kills, seed } = options;
  const title = `every fault of every vendor ${copies} times, and ${kills} kills of the worker at each; --seed ${seed}`;
  return [title, (place) => runVendorDrill(options, place)];
}

function read<Options>(parse: (args: readonly string[], newSeed: number) => Options, usage: string): Options {
  try {
    return parse(args, randomInt(2 ** 32));
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}\n${usage}`);
    return process.exit(2);
  }
}
