/**
 * Attacks a stack of its own: clients that want models for nothing, and clients that want to keep others waiting. Prints a line
 * a case, and last how many passed.
 *
 * Usage: npm run attack [-- part of the names of cases…]
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findFreePort } from '../../bin/stack/ports.ts';
import { loadCatalogue } from '../../catalogue/load.ts';
import { startOwnStack } from '../own-stack.ts';
import { closeClients, type Victim } from './attacker.ts';
import type { AttackCase } from './case.ts';
import { MONEY_CASES } from './money.ts';
import { STALL_CASES } from './stall.ts';
import { startVendor } from './vendor.ts';

const SIMULATOR_KEY = 'the-key-of-the-simulator';

const wanted = process.argv.slice(2);
const cases = [...MONEY_CASES, ...STALL_CASES].filter(
  ({ name }) => wanted.length === 0 || wanted.some((part) => name.includes(part)),
);

const folder = await mkdtemp(join(tmpdir(), 'genway-attack-'));
const vendor = await startVendor();
const simulatorPort = await findFreePort();
const providers = join(folder, 'providers.yaml');
await writeFile(providers, JSON.stringify(providersFile(vendor.url, simulatorPort)));
const {
  description: stack,
  log,
  stop,
} = await startOwnStack({
  GENWAY_PROVIDERS: providers,
  GENWAY_SIMULATOR_PORT: String(simulatorPort),
  GENWAY_SIMULATOR_KEY: SIMULATOR_KEY,
});
let passed = 0;
try {
  const victim: Victim = { stack, vendor, catalogue: loadCatalogue() };
  for (const attack of cases) passed += (await survives(attack, victim)) ? 1 : 0;
} finally {
  await closeClients();
  await stop();
  await vendor.close();
  await rm(folder, { recursive: true, force: true });
}
if (passed < cases.length) console.log(`\nThe log of the stack: ${await keepLog()}`);
console.log(`\n${passed} passed, ${cases.length - passed} failed`);
process.exitCode = passed === cases.length ? 0 : 1;

async function survives({ name, run }: AttackCase, victim: Victim): Promise<boolean> {
  try {
    console.log(`ok      ${name}: ${await run(victim)}`);
    return true;
  } catch (error) {
    console.log(`FAILED  ${name}: ${error instanceof Error ? error.message : String(error)}`);
    return false;
  }
}

/** @returns where */
async function keepLog(): Promise<string> {
  const file = join(await mkdtemp(join(tmpdir(), 'genway-attack-log-')), 'stack.log');
  await writeFile(file, log.join('\n'));
  return file;
}

/** Media is rendered by the simulator as ever; all text comes from the vendor. */
function providersFile(vendorUrl: string, simulatorPort: number): object {
  return {
    media: [
      {
        name: 'simulator',
        protocol: 'http-jobs',
        base_url: `http://127.0.0.1:${simulatorPort}`,
        api_key: SIMULATOR_KEY,
      },
    ],
    text: [
      {
        name: 'simulator',
        api_key: 'none',
        base_urls: {
          'chat-completions': `${vendorUrl}/v1`,
          responses: `${vendorUrl}/v1`,
          messages: `${vendorUrl}/v1`,
          'generate-content': `${vendorUrl}/v1beta`,
        },
      },
    ],
  };
}
