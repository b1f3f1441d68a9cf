/**
 * Measures what credentials that expire cost a request: the CPU time of a text process per request with a key, with a
 * signature of AWS and with a token of Google, by turns in one process, to upstreams that cost nothing; and the start of a text
 * process with and without clouds. Prints one JSON line.
 */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseDocument } from 'yaml';
import { DEFAULT_CATALOGUE } from '../../catalogue/load.ts';
import { createTokenServices } from '../stack/clouds/token-services.ts';
import { serveLocally } from '../stack/local-server.ts';
import type { Settings } from '../stack/stack.ts';
import { cpuTimeUs, residentMegabytesOf } from './load/processes.ts';
import { putLoad } from './load/wrk.ts';
import { percentile, rounded } from './statistics.ts';
import { chatRequest, startTextStack, type TextStack } from './text-stack.ts';

const CLIENTS = 32;
const ROUNDS = 5;
const STARTS = 5;
const ROUND_SECONDS = 4;
/** The families of the added models, by the names of their upstreams. */
const UPSTREAMS = ['key', 'aws', 'google'] as const;
type Upstream = (typeof UPSTREAMS)[number];
/** Without a file of upstreams, the simulator serves every model, and there are no clouds. */
const WITHOUT_CLOUDS: Settings = { GENWAY_PROVIDERS: '', GENWAY_CATALOGUE: '' };

const services = await createTokenServices();
const tokens = await serveLocally((request, response) => {
  void services.handle('/tokens/google', request, response).catch(() => response.destroy());
});
const folder = await mkdtemp(join(tmpdir(), 'genway-bench-'));
try {
  const catalogue = join(folder, 'catalogue.yaml');
  await writeFile(catalogue, withModels(await readFile(DEFAULT_CATALOGUE, 'utf8')));
  const stack = await startTextStack({
    catalogue,
    moreUpstreams: (url) => UPSTREAMS.map((name) => entryOf(name, url)),
  });
  try {
    const starts = await measureStarts(stack);
    console.log(JSON.stringify({ ...(await measure(stack)), ...starts }));
  } finally {
    await stack.stop();
  }
} finally {
  await tokens.close();
  await rm(folder, { recursive: true });
}

function modelOf(upstream: Upstream): string {
  return `with-${upstream}`;
}

/** The catalogue with a model of each upstream. */
function withModels(text: string): string {
  const document = parseDocument(text);
  for (const provider of UPSTREAMS) {
    const family = {
      family: modelOf(provider),
      compatibility: 'full',
      route: { provider, format: 'chat-completions' },
      models: [
        {
          id: modelOf(provider),
          reasoning: false,
          prices: { input: '0.10', output: '0.40', cached_input: '0.01', cache_write: '0.10' },
        },
      ],
    };
    document.addIn(['text', 'families'], family);
  }
  return document.toString();
}

function entryOf(name: Upstream, url: string): object {
  if (name === 'key') return { name, base_url: `${url}/v1`, api_key: 'none' };
  if (name === 'aws') {
    const aws = { access_key_id: 'AKIAEXAMPLE', secret_access_key: 'a-secret' };
    return { name, platform: 'bedrock', region: 'us-east-1', base_url: url, auth: { aws } };
  }
  const google = { credentials: JSON.stringify(services.serviceAccount()), token_url: tokens.url };
  return { name, platform: 'vertex', project: 'project-1', base_url: url, auth: { google } };
}

async function measureStarts(stack: TextStack): Promise<object> {
  const starts: Record<'with_clouds' | 'without_clouds', Start[]> = { with_clouds: [], without_clouds: [] };
  for (let round = 0; round < STARTS; round += 1) {
    starts.without_clouds.push(await measureStart(() => stack.startGateway(undefined, WITHOUT_CLOUDS)));
    starts.with_clouds.push(await measureStart(() => stack.startGateway()));
  }
  const medians = Object.entries(starts).map(([name, all]) => [name, medianOf(all)] as const);
  return { start_up: Object.fromEntries(medians) };
}

interface Start {
  readonly ready_ms: number;
  readonly cpu_ms: number;
  readonly memory_mb: number;
}

async function measureStart(start: () => Promise<{ readonly pid: number }>): Promise<Start> {
  const startedAtMs = performance.now();
  const { pid } = await start();
  const ready_ms = rounded(performance.now() - startedAtMs, 0);
  return { ready_ms, cpu_ms: rounded(cpuTimeUs(pid) / 1000, 0), memory_mb: rounded(residentMegabytesOf(pid), 0) };
}

function medianOf(all: readonly Start[]): Start {
  const middle = (name: keyof Start): number =>
    percentile(
      all.map((one) => one[name]),
      0.5,
    );
  return { ready_ms: middle('ready_ms'), cpu_ms: middle('cpu_ms'), memory_mb: middle('memory_mb') };
}

async function measure({ gateway, pids }: TextStack): Promise<object> {
  const measured: Record<Upstream, number[]> = { key: [], aws: [], google: [] };
  // The first round warms up.
  for (let round = 0; round <= ROUNDS; round += 1) {
    for (const upstream of UPSTREAMS) {
      const beforeUs = cpuTimeUs(pids.gateway);
      const request = chatRequest(gateway, undefined, modelOf(upstream));
      const { requests, failed } = await putLoad(request, CLIENTS, ROUND_SECONDS);
      if (failed > 0) throw new Error(`${failed} of ${requests} requests failed with ${upstream}`);
      if (round > 0) measured[upstream].push((cpuTimeUs(pids.gateway) - beforeUs) / requests);
    }
  }
  const medianOf = (upstream: Upstream): number => percentile(measured[upstream], 0.5);
  const added = (upstream: Upstream): number => rounded(medianOf(upstream) - medianOf('key'), 0);
  return {
    text_cpu_us_per_request: Object.fromEntries(UPSTREAMS.map((one) => [one, rounded(medianOf(one), 0)])),
    added_by_signature_us: added('aws'),
    added_by_token_us: added('google'),
    rounds: ROUNDS,
    cores: cpus().length,
  };
}
