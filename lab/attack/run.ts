/**
 * Attacks a stack of its own: clients that want free output, and clients that delay others. Prints a line per case, and
 * last the number of passed cases.
 *
 * Usage: npm run attack [-- part of the names of cases…]
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadCatalogue } from '../../catalogue/load.ts';
import { type SimulatorAccess, startStack } from '../stack/stack.ts';
import { closeClients, type Victim } from './attacker.ts';
import { BATCH_CASES } from './batches.ts';
import { CALL_CASES } from './calls.ts';
import type { AttackCase } from './case.ts';
import { MONEY_CASES } from './money.ts';
import { REALTIME_CASES } from './realtime.ts';
import { STALL_CASES } from './stall.ts';
import { startVendor } from './vendor.ts';
import { VOICE_CASES } from './voice.ts';

const wanted = process.argv.slice(2);
const cases = [...MONEY_CASES, ...STALL_CASES, ...REALTIME_CASES, ...CALL_CASES, ...BATCH_CASES, ...VOICE_CASES].filter(
  ({ name }) => wanted.length === 0 || wanted.some((part) => name.includes(part)),
);

const home = await mkdtemp(join(tmpdir(), 'genway-attack-'));
const vendor = await startVendor();
const stack = await startStack({
  home,
  processes: { api: 1, text: 1, worker: 1 },
  upstreams: (simulator) => upstreamsOf(vendor.url, simulator),
});
let passed = 0;
try {
  const victim: Victim = {
    apiUrl: stack.apiUrls[0] ?? '',
    textUrl: stack.textUrls.get('text-1') ?? '',
    adminToken: stack.adminToken,
    vendor,
    catalogue: loadCatalogue(),
  };
  for (const attack of cases) passed += (await survives(attack, victim)) ? 1 : 0;
} finally {
  await closeClients();
  await stack.stop();
  await vendor.close();
}
if (passed < cases.length) console.log(`\nThe logs of the stack are in ${home}`);
else await rm(home, { recursive: true, force: true });
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

/** The simulator renders media as usual; the vendor generates all text. */
function upstreamsOf(vendorUrl: string, simulator: SimulatorAccess): object {
  return {
    media: [{ name: 'simulator', protocol: 'http-jobs', base_url: simulator.url, api_key: simulator.apiKey }],
    text: [{ name: 'simulator', base_url: vendorUrl, api_key: 'none' }],
  };
}
