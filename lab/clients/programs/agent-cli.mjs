/** A command-line coding agent reads a file, runs a shell command and writes a file. */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { API_KEY, BASE_URL, expect, MODEL, report } from './check.mjs';

const { AGENT, TOOLS = '', BIN = '' } = process.env;
const home = await mkdtemp(join(tmpdir(), 'genway-agent-'));
const work = join(home, 'work');
await mkdir(work);
await writeFile(join(work, 'notes.txt'), 'a lighthouse');

/** The output of the command is not in its text, which agents print too. */
const SHELL = "printf '%s-%s' light house";

const CODEX = {
  prepare: () =>
    writeFile(
      join(home, 'config.toml'),
      [
        'model_provider = "genway"',
        '[model_providers.genway]',
        'name = "Genway"',
        `base_url = "${BASE_URL}/v1"`,
        'env_key = "GENWAY_KEY"',
        'wire_api = "responses"',
      ].join('\n'),
    ),
  env: { CODEX_HOME: home, GENWAY_KEY: API_KEY },
  args: (prompt) => [
    'exec',
    '--skip-git-repo-check',
    '--dangerously-bypass-approvals-and-sandbox',
    '-m',
    MODEL,
    prompt,
  ],
};

const inCode = (command) => ({ input: `text(await tools.exec_command(${JSON.stringify({ cmd: command })}))` });
const PATCH = ['*** Begin Patch', '*** Add File: new.txt', '+written', '*** End Patch', ''].join('\n');

/** Codex sends a model that it knows by name other tools than a model that it does not know. */
const AGENTS = {
  'codex-code': {
    ...CODEX,
    isSerial: true,
    calls: [
      ['read', 'functions__exec', inCode('cat notes.txt'), 'a lighthouse'],
      ['shell', 'functions__exec', inCode(SHELL), 'light-house'],
      ['write', 'functions__exec', inCode('echo written > new.txt'), ''],
      ['agents', 'collaboration__list_agents', {}, ''],
    ],
  },
  'codex-patch': {
    ...CODEX,
    calls: [
      ['read', 'exec_command', { cmd: 'cat notes.txt' }, 'a lighthouse'],
      ['shell', 'exec_command', { cmd: SHELL }, 'light-house'],
      ['write', 'apply_patch', { input: PATCH }, ''],
      ['search', 'tool_search', { query: 'mail' }, ''],
    ],
  },
  codex: {
    ...CODEX,
    calls: [
      ['read', 'exec_command', { cmd: 'cat notes.txt' }, 'a lighthouse'],
      ['shell', 'exec_command', { cmd: SHELL }, 'light-house'],
      ['write', 'exec_command', { cmd: 'echo written > new.txt' }, ''],
      ['plan', 'create_goal', { objective: 'See the lighthouse' }, 'goal_objective'],
    ],
  },
  gemini: {
    prepare: async () => {
      await mkdir(join(home, '.gemini'));
      const settings = { security: { auth: { selectedType: 'gemini-api-key' } } };
      await writeFile(join(home, '.gemini/settings.json'), JSON.stringify(settings));
    },
    env: { HOME: home, GEMINI_API_KEY: API_KEY, GOOGLE_GEMINI_BASE_URL: BASE_URL },
    args: (prompt) => ['-m', MODEL, '-y', '--skip-trust', '-p', prompt],
    calls: [
      ['read', 'read_file', { file_path: 'notes.txt' }, 'a lighthouse'],
      ['shell', 'run_shell_command', { command: SHELL }, 'light-house'],
      ['write', 'write_file', { file_path: 'new.txt', content: 'written' }, ''],
    ],
  },
};

const agent = AGENTS[TOOLS || AGENT];
await agent.prepare();

async function ask(prompt) {
  const running = promisify(execFile)(BIN, agent.args(prompt), {
    cwd: work,
    env: { ...process.env, ...agent.env },
    timeout: 120_000,
  });
  running.child.stdin.end();
  const { stdout, stderr } = await running;
  return stdout + stderr;
}

expect('turn', await ask('Say exactly: lighthouse'), 'lighthouse');
// An answer has at most one call where the agent wants no parallel calls.
for (const calls of agent.isSerial ? agent.calls.map((call) => [call]) : [agent.calls]) {
  const wish = calls.map(([, tool, input]) => `${tool} with ${JSON.stringify(input)}`).join(' and ');
  const told = await ask(`Call ${wish}`);
  for (const [feature, , , part] of calls) expect(feature, told, part);
}
expect('file', await readFile(join(work, 'new.txt'), 'utf8'), 'written');
report();
