/**
 * Holds a long session with each coding agent over each format of upstreams: twenty turns with a tool, a failover to
 * another vendor, and a conversation that becomes too long for the model, so that the agent must compact it. Prints a
 * line for each session.
 *
 * Usage: npm run sessions [-- part of a name]
 */
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { DEFAULT_CATALOGUE } from '../../catalogue/load.ts';
import { openAccount } from '../stack/accounts.ts';
import { nodeWith } from '../stack/packages.ts';
import { startStack } from '../stack/stack.ts';
import { WIRE_FORMAT_NAMES, type WireFormatName } from '../../domain/wire-format-name.ts';
import { CLAUDE_CODE, CODEX } from './clients.ts';
import { type AgentProcess, startClaudeCode, startCodex, type Workplace } from './agent-process.ts';
import { startVendorFront } from './vendor-front.ts';

const TURNS = 20;
/** The first vendor is unavailable in this turn. */
const FAILOVER_TURN = 6;
/** The conversation is too long from this turn on. */
const OVERFLOW_TURN = 15;
/** An agent may end a turn that overflowed, and compact before the next one. */
const MAX_ATTEMPTS = 3;
const FUNDS_USD = 1_000;

interface Agent {
  readonly name: string;
  readonly packages: readonly string[];
  readonly program: string;
  readonly start: (program: string, workplace: Workplace) => Promise<AgentProcess>;
  /** The tool that runs a command, and its input. */
  readonly command: (command: string) => readonly [tool: string, input: object];
}

const AGENTS: readonly Agent[] = [
  {
    name: 'Codex CLI',
    packages: CODEX.names,
    program: 'codex',
    start: startCodex,
    command: (cmd) => ['exec_command', { cmd }],
  },
  {
    name: 'Claude Code',
    packages: CLAUDE_CODE.names,
    program: 'claude',
    start: startClaudeCode,
    command: (command) => ['Bash', { command, description: 'Prints a word' }],
  },
];

type Access = Pick<Workplace, 'baseUrl' | 'apiKey'>;

const [wanted = ''] = process.argv.slice(2);
const counts = { passed: 0, failed: 0 };
const folder = await mkdtemp(join(tmpdir(), 'genway-sessions-'));
let simulatorUrl = '';
const fronts = {
  first: await startVendorFront(() => simulatorUrl),
  second: await startVendorFront(() => simulatorUrl),
};
const catalogue = join(folder, 'catalogue.json');
const shipped: { readonly text: object } = parse(await readFile(DEFAULT_CATALOGUE, 'utf8'), { merge: true });
await writeFile(catalogue, JSON.stringify(sessionCatalogue(shipped.text)));
const stack = await startStack({
  processes: { api: 1, text: 1, worker: 0 },
  settings: { GENWAY_CATALOGUE: catalogue },
  upstreams: ({ apiKey }) => ({
    text: Object.entries(fronts).map(([name, { url }]) => ({ name, base_url: url, api_key: apiKey })),
  }),
});
try {
  ({ simulatorUrl } = stack);
  const [apiUrl = ''] = stack.apiUrls;
  const { apiKey } = await openAccount({ apiUrl, adminToken: stack.adminToken }, FUNDS_USD);
  const access = { baseUrl: stack.textUrls.get('text-1') ?? apiUrl, apiKey };
  for (const agent of AGENTS) {
    const bin = join(await nodeWith(agent.packages), 'node_modules/.bin', agent.program);
    for (const format of WIRE_FORMAT_NAMES) {
      const name = `${agent.name}, over ${format}`;
      if (name.includes(wanted)) await report(name, () => holdSession(agent, bin, `session-${format}`, access));
    }
  }
} finally {
  await stack.stop();
  for (const front of Object.values(fronts)) await front.close();
  await rm(folder, { recursive: true, force: true });
}
console.log(`sessions: ${counts.passed} passed, ${counts.failed} failed`);
process.exitCode = counts.failed > 0 ? 1 : 0;

/** A model for each format of upstreams, which both vendors serve. @param text what the shipped catalogue says of text */
function sessionCatalogue(text: object): object {
  const families = WIRE_FORMAT_NAMES.map(familyOf);
  return {
    version: 'sessions',
    media: {},
    text: { ...text, embeddings: [], rerank: [], voice: [], realtime: [], families },
  };
}

function familyOf(format: WireFormatName): object {
  return {
    family: `session-${format}`,
    compatibility: 'full',
    reasoning_efforts: ['none', 'low', 'medium', 'high', 'xhigh', 'max'],
    routes: Object.keys(fronts).map((provider) => ({ provider, format })),
    models: [
      {
        id: `session-${format}`,
        context_tokens: 200_000,
        max_output_tokens: 64_000,
        reasoning: true,
        prices: { input: '0.10', output: '0.40', cached_input: '0.01', cache_write: '0.10' },
      },
    ],
  };
}

/** @returns what happened @throws Error when a turn fails, or when nothing went wrong on the way */
async function holdSession(agent: Agent, program: string, model: string, access: Access): Promise<string> {
  const home = await mkdtemp(join(folder, 'session-'));
  const work = join(home, 'work');
  await mkdir(work);
  const { first, second } = fronts;
  for (const front of [first, second]) {
    Object.assign(front, { isDown: false, maxItems: null, refused: 0 });
    front.answered.length = 0;
  }
  const running = await agent.start(program, { home, folder: work, model, ...access });
  let attempts = 0;
  try {
    for (let turn = 1; turn <= TURNS; turn++) {
      first.isDown = turn === FAILOVER_TURN;
      if (turn === OVERFLOW_TURN) first.maxItems = second.maxItems = lastOf(first.answered);
      attempts += await takeTurn(agent, running, turn);
    }
  } finally {
    running.stop();
  }
  const refused = first.refused + second.refused;
  if (second.answered.length === 0) throw new Error('no request went to the second vendor');
  if (refused === 0) throw new Error('no conversation was too long');
  const repeated = attempts - TURNS;
  return `${TURNS} turns (${repeated} repeated), ${second.answered.length} requests to the second vendor, compacted after ${refused} refusals`;
}

/** Asks until the agent has run the command of the turn. @returns the number of attempts */
async function takeTurn({ command }: Agent, running: AgentProcess, turn: number): Promise<number> {
  let told = '';
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
    // The output of the command is not in its text, which agents print too.
    const [tool, input] = command(`printf '%s-%s-%s' turn ${turn} ${attempt}`);
    told = await running.ask(`Call ${tool} with ${JSON.stringify(input)}`);
    if (told.includes(`turn-${turn}-${attempt}`)) return attempt;
    await running.compact(told);
  }
  throw new Error(`turn ${turn} failed:\n${told.slice(-2_000)}`);
}

function lastOf(counts: readonly number[]): number {
  return counts.at(-1) ?? 0;
}

async function report(name: string, hold: () => Promise<string>): Promise<void> {
  try {
    console.log(`${name}: ${await hold()}`);
    counts.passed += 1;
  } catch (error) {
    console.log(`${name}: FAILED: ${String(error)}`);
    counts.failed += 1;
  }
}
