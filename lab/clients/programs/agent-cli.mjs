/** A command-line coding agent reads a file, runs a shell command and writes a file. */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { API_KEY, expect, MODEL, report } from './check.mjs';

const { AGENT, TOOLS = '', BIN = '', CONFIG = '', OVER_WEBSOCKETS = '' } = process.env;
const home = await mkdtemp(join(tmpdir(), 'genway-agent-'));
const work = join(home, 'work');
await mkdir(work);
await writeFile(join(work, 'notes.txt'), 'a lighthouse');
const notes = join(work, 'notes.txt');
const written = join(work, 'new.txt');

/** The output of the command is not in its text, which agents print too. */
const SHELL = "printf '%s-%s' light house";

const CODEX_FLAGS = ['--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox', '-m', MODEL];
const CODEX = {
  config: 'config.toml',
  env: { CODEX_HOME: home },
  args: ['exec', ...CODEX_FLAGS],
  continued: ['exec', 'resume', '--last', ...CODEX_FLAGS],
};

/** The model searches the web, and repeats what it found. */
const SEARCH = '[sim:search=trains]';
const FOUND = 'https://example.com/trains/1';

const inCode = (command) => ({ input: `text(await tools.exec_command(${JSON.stringify({ cmd: command })}))` });
const PATCH = ['*** Begin Patch', '*** Add File: new.txt', '+written', '*** End Patch', ''].join('\n');

/**
 * The file of each agent's configuration in its home, its arguments, and its tools that read, run and write; for some, the
 * arguments that continue a conversation, and two prompts of which the second makes it too long. Codex sends a
 * model that it knows by name other tools than a model that it does not know.
 */
const AGENTS = {
  'codex-code': {
    ...CODEX,
    isSerial: true,
    calls: [
      ...calls({
        read: ['functions__exec', inCode('cat notes.txt')],
        shell: ['functions__exec', inCode(SHELL)],
        write: ['functions__exec', inCode('echo written > new.txt')],
      }),
      ['agents', 'collaboration__list_agents', {}, ''],
    ],
  },
  'codex-patch': {
    ...CODEX,
    calls: [
      ...calls({
        read: ['exec_command', { cmd: 'cat notes.txt' }],
        shell: ['exec_command', { cmd: SHELL }],
        write: ['apply_patch', { input: PATCH }],
      }),
      ['search', 'tool_search', { query: 'mail' }, ''],
    ],
  },

  codex: {
    ...CODEX,
    search: { args: ['-c', 'web_search="live"'], prompt: `Find trains. ${SEARCH}` },
    // Codex keeps the messages of people, and shortens the conversation at the turn after the refusal.
    tooLong: ['Tell a story. [sim:tokens=4000,prompt=100]', 'Go on. [sim:context=12000,tokens=3]'],
    calls: [
      ...calls({
        read: ['exec_command', { cmd: 'cat notes.txt' }],
        shell: ['exec_command', { cmd: SHELL }],
        write: ['exec_command', { cmd: 'echo written > new.txt' }],
      }),
      ['plan', 'create_goal', { objective: 'See the lighthouse' }, 'goal_objective'],
    ],
  },
  gemini: {
    config: '.gemini/settings.json',
    args: ['-m', MODEL, '-y', '--skip-trust', '-p'],
    calls: calls({
      read: ['read_file', { file_path: 'notes.txt' }],
      shell: ['run_shell_command', { command: SHELL }],
      write: ['write_file', { file_path: 'new.txt', content: 'written' }],
    }),
  },
  claude: {
    // Without the variable, Claude Code refuses to run as root without questions.
    env: { IS_SANDBOX: '1' },
    args: ['--dangerously-skip-permissions', '-p'],
    continued: ['--dangerously-skip-permissions', '--continue', '-p'],
    // Without the variable, the agent first looks for the tool.
    search: {
      env: { ENABLE_TOOL_SEARCH: 'false' },
      prompt: `Call WebSearch with ${JSON.stringify({ query: `${SEARCH} trains` })}`,
    },
    tooLong: [`Remember: ${'tide '.repeat(20_000)}`, 'Go on. [sim:context=34000]'],
    calls: calls({
      read: ['Read', { file_path: notes }],
      shell: ['Bash', { command: SHELL }],
      write: ['Write', { file_path: written, content: 'written' }],
    }),
  },
  opencode: {
    config: '.config/opencode/opencode.json',
    env: { XDG_CONFIG_HOME: join(home, '.config'), XDG_DATA_HOME: join(home, '.data') },
    args: ['run', '-m', `genway/${MODEL}`],
    // The agent quotes a prompt among its arguments.
    readsPrompt: true,
    calls: calls({
      read: ['read', { filePath: notes }],
      shell: ['bash', { command: SHELL, description: 'Prints words' }],
      write: ['write', { filePath: written, content: 'written' }],
    }),
  },
  copilot: {
    args: ['--allow-all-tools', '-p'],
    calls: calls({
      read: ['view', { path: notes }],
      shell: ['bash', { command: SHELL, description: 'Prints words' }],
      write: ['create', { path: written, file_text: 'written' }],
    }),
  },
  qwen: {
    args: ['--auth-type', 'openai', '-y', '-p'],
    calls: calls({
      read: ['read_file', { file_path: notes }],
      shell: ['run_shell_command', { command: SHELL, is_background: false }],
      write: ['write_file', { file_path: written, content: 'written' }],
    }),
  },
  cn: {
    config: '.continue/config.yaml',
    args: ['--config', join(home, '.continue/config.yaml'), '--auto', '-p'],
    calls: calls({
      read: ['Read', { filepath: notes }],
      shell: ['Bash', { command: SHELL }],
      write: ['Write', { filepath: written, content: 'written' }],
    }),
  },
  pi: {
    config: '.pi/agent/models.json',
    args: ['--provider', 'genway', '--model', MODEL, '-p'],
    calls: calls({
      read: ['read', { path: notes }],
      shell: ['bash', { command: SHELL }],
      write: ['write', { path: written, content: 'written' }],
    }),
  },
};

/** Each call with the part of its result that the agent must print. */
function calls({ read, shell, write }) {
  return [
    ['read', ...read, 'a lighthouse'],
    ['shell', ...shell, 'light-house'],
    ['write', ...write, ''],
  ];
}

const agent = AGENTS[TOOLS || AGENT];
if (agent.config) {
  await mkdir(dirname(join(home, agent.config)), { recursive: true });
  await writeFile(join(home, agent.config), OVER_WEBSOCKETS === '' ? CONFIG : await withWebSocketsOnly(CONFIG));
}

/** The configuration of Codex with WebSockets, over a proxy that refuses other requests. */
async function withWebSocketsOnly(config) {
  const [, host = '', port = ''] = /base_url = "http:\/\/([^:/]+):(\d+)/.exec(config) ?? [];
  const proxy = createServer((client) => {
    client.on('error', () => client.destroy());
    client.once('data', (head) => {
      if (!/^upgrade: websocket/im.test(head)) {
        client.destroy();
        return;
      }
      const server = connect(Number(port), host);
      server.on('error', () => client.destroy());
      server.write(head);
      client.pipe(server).pipe(client);
    });
  });
  await new Promise((resolve) => {
    proxy.listen(0, '127.0.0.1', resolve);
  });
  proxy.unref();
  return `${config.replace(`${host}:${port}`, `127.0.0.1:${proxy.address().port}`)}supports_websockets = true\n`;
}

async function ask(prompt, args = agent.args, env = {}) {
  const running = promisify(execFile)(BIN, agent.readsPrompt ? args : [...args, prompt], {
    cwd: work,
    env: { ...process.env, HOME: home, PWD: work, GENWAY_KEY: API_KEY, ...agent.env, ...env },
    timeout: 120_000,
  });
  running.child.stdin.end(agent.readsPrompt ? prompt : '');
  const { stdout, stderr } = await running;
  return stdout + stderr;
}

expect('turn', await ask('Say exactly: lighthouse'), 'lighthouse');
// An answer has at most one call where the agent wants no parallel calls.
for (const some of agent.isSerial ? agent.calls.map((call) => [call]) : [agent.calls]) {
  const wish = some.map(([, tool, input]) => `${tool} with ${JSON.stringify(input)}`).join(' and ');
  const told = await ask(`Call ${wish}`);
  for (const [feature, , , part] of some) expect(feature, told, part);
}
expect('file', await readFile(written, 'utf8'), 'written');
if (agent.search) {
  const { args = [], env, prompt } = agent.search;
  expect('web search', await ask(prompt, [...agent.args, ...args], env), FOUND);
}
// The upstream refuses the conversation as too long, until the agent has shortened it.
if (agent.tooLong) {
  const [long, refused] = agent.tooLong;
  await ask(long);
  await ask(refused, agent.continued).catch(() => {});
  expect('compaction', await ask('Say exactly: going on', agent.continued), 'going on');
}
report();
