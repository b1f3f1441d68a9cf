/**
 * `npm run cluster`: Genway as in production on this machine, until Ctrl-C. PostgreSQL has a synchronous standby, Temporal runs
 * as two nodes on it, and each program of Genway runs several times behind a balancer.
 */
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { killAll } from '../bin/stack/child-process.ts';
import { checkPorts } from '../bin/stack/ports.ts';
import { loadStackConfig } from '../config.ts';
import { openAccount } from './stack/accounts.ts';
import { build } from './stack/build.ts';
import type { Role } from './stack/member.ts';
import { openS3Store } from './stack/s3-store.ts';
import { type Stack, startStack } from './stack/stack.ts';
import { startTcpBalancer } from './stack/tcp-proxy.ts';

const PROCESSES = { api: 2, text: 4, worker: 2 };

const stopping = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stopping.abort());
const stopped = once(stopping.signal, 'abort');

const { ports } = loadStackConfig();
await checkPorts({ GENWAY_API_PORT: ports.api, GENWAY_TEXT_PORT: ports.text });
const home = await mkdtemp(join(tmpdir(), 'genway-cluster-'));
console.log(`starting; logs are in ${home}`);
let stack: Stack | undefined;
const upOf = (wanted: Role) => () =>
  (stack?.members ?? []).filter((member) => member.role === wanted && member.isUp()).map(({ url }) => url);
const balancers = await Promise.all([
  startTcpBalancer(upOf('api'), ports.api),
  startTcpBalancer(upOf('text'), ports.text),
]);
const store = await openS3Store();
const [apiUrl, textUrl] = [`http://127.0.0.1:${ports.api}`, `http://127.0.0.1:${ports.text}`];
try {
  stack = await startStack({
    home,
    processes: PROCESSES,
    isCluster: true,
    built: await build(home),
    settings: { ...store.settings, GENWAY_PUBLIC_URL: apiUrl },
    report: (line) => console.log(line),
  });
  const account = await openAccount({ apiUrl, adminToken: stack.adminToken }, 1_000);
  console.log(describe(stack, account.apiKey));
  await stopped;
  console.log('stopping');
  await stack.stop();
  await Promise.all([...balancers.map((balancer) => balancer.close()), store.close()]);
  await rm(home, { recursive: true, force: true });
  process.exit(0);
} catch (error) {
  console.error(error);
  killAll();
  process.exit(1);
}

function describe(
  { members, databaseUrl, temporalAddress, temporalUiUrl, simulatorUrl, adminToken }: Stack,
  key: string,
) {
  return `
The cluster is ready.

  api          ${apiUrl}  ${PROCESSES.api} processes
  text         ${textUrl}  ${PROCESSES.text} processes
  Temporal     ${temporalAddress}  two nodes
  Temporal UI  ${temporalUiUrl}
  database     ${databaseUrl}
  simulator    ${simulatorUrl}
  admin token  ${adminToken}
  API key      ${key}  1,000 USD

  ${members.map((member) => `${member.name} ${member.pid()}`).join(', ')}

Try it:

  curl ${apiUrl}/v1/videos/tasks -H 'Authorization: Bearer ${key}' -H 'Content-Type: application/json' \\
    -d '{"model":"vidone-3.0","prompt":"A lighthouse in a storm","duration":2}'

  curl -N ${textUrl}/v1/chat/completions -H 'Authorization: Bearer ${key}' -H 'Content-Type: application/json' \\
    -d '{"model":"textg-6-sol","stream":true,"messages":[{"role":"user","content":"Hello"}]}'

Press Ctrl-C to stop.`;
}
