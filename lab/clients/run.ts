/**
 * Installs real clients and runs them against a stack of its own, with the catalogue of `npm start`. Prints a line for each
 * client: its working features, or why it was skipped.
 *
 * Usage: npm run clients [-- part of a name]
 */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DEFAULT_CATALOGUE } from '../../catalogue/load.ts';
import { openAccount } from '../stack/accounts.ts';
import { nodeWith, pythonWith } from '../stack/packages.ts';
import { startStack } from '../stack/stack.ts';
import { type Client, CLIENTS, CODEX_NAMES } from './clients.ts';
import { GENERATORS, GENERATORS_WITH_JAVA, saveDescription } from './generated.ts';
import { type Ground, runProgram } from './tools.ts';

const FUNDS_USD = 1_000;
const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkZPhfDwAEAAIBdDoGOAAAAABJRU5ErkJggg==';

const [wanted = ''] = process.argv.slice(2);
const folder = await mkdtemp(join(tmpdir(), 'genway-clients-'));
const counts = { passed: 0, failed: 0, leftOut: 0 };

const catalogue = join(folder, 'catalogue.yaml');
await writeFile(catalogue, withKnownNames(await readFile(DEFAULT_CATALOGUE, 'utf8')));
const stack = await startStack({
  processes: { api: 1, text: 1, worker: 1 },
  settings: { GENWAY_CATALOGUE: catalogue },
});
try {
  const [apiUrl = ''] = stack.apiUrls;
  const { apiKey } = await openAccount({ apiUrl, adminToken: stack.adminToken }, FUNDS_USD);
  const picture = join(folder, 'picture.png');
  await writeFile(picture, Buffer.from(PIXEL, 'base64'));
  const textUrl = stack.textUrls.get('text-1') ?? '';
  const ground = { apiUrl, textUrl, apiKey, picture };
  for (const client of CLIENTS) if (client.name.includes(wanted)) await tryClient(client, ground);
  const settings = { BASE_URL: apiUrl, API_KEY: apiKey, PICTURE: picture };
  const description = join(folder, 'openapi.json');
  await saveDescription(apiUrl, description);
  for (const [generator, attempt] of Object.entries({ ...GENERATORS, ...GENERATORS_WITH_JAVA })) {
    const name = `Generated client, ${generator}`;
    if (name.includes(wanted)) await report(name, () => attempt(description, folder, settings));
  }
} finally {
  await stack.stop();
  await rm(folder, { recursive: true, force: true });
}
const { passed, failed, leftOut } = counts;
console.log(`clients: ${passed} passed, ${failed} failed${leftOut > 0 ? `, ${leftOut} left out` : ''}`);
process.exitCode = failed > 0 ? 1 : 0;

/** The catalogue of `npm start`, whose demo model with this format also has the names that Codex knows. */
function withKnownNames(text: string): string {
  return text.replace(/^ *models: \[\{ <<: \*demo, id: demo-messages \}\]$/m, (line) => {
    const names = Object.values(CODEX_NAMES).map((id) => `{ <<: *demo, id: ${id} }`);
    return [line.slice(0, -1), ...names].join(', ') + ']';
  });
}

async function tryClient(client: Client, ground: Ground): Promise<void> {
  const { packages } = client;
  try {
    if (packages.from === 'pypi') await pythonWith(packages.names);
    if (packages.from === 'npm') await nodeWith(packages.names);
  } catch (error) {
    counts.leftOut += 1;
    return console.log(`${client.name}: left out, its packages cannot be installed: ${String(error)}`);
  }
  await report(client.name, () => runProgram(client, ground));
}

async function report(name: string, attempt: () => Promise<string>): Promise<void> {
  try {
    console.log(`${name}: ${await attempt()}`);
    counts.passed += 1;
  } catch (error) {
    console.log(`${name}: FAILED: ${String(error)}`);
    counts.failed += 1;
  }
}
