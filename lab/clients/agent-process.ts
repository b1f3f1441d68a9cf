/** Coding agents as programs that other programs talk to: a JSON object on each line. */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { on } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { childEnvironment } from '../../config.ts';
import type { Settings } from '../stack/packages.ts';

/** Where an agent works, and the model that it uses. */
export interface Workplace {
  readonly home: string;
  readonly folder: string;
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly model: string;
}

/** A conversation with an agent. */
export interface AgentProcess {
  /** Takes a turn. @returns all that the agent reported in it @throws Error if the turn does not end */
  ask(prompt: string): Promise<string>;
  /** Compacts the conversation, if the agent recognised in its last turn that it is too long, and leaves that to users. */
  compact(lastTurn: string): Promise<void>;
  stop(): void;
}

const TURN_TIMEOUT_MS = 180_000;
/** Signs of the end of a turn, and of the answer to a request of ours. */
type IsLast = (message: Readonly<Record<string, unknown>>) => boolean;

class LineProcess {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #lines: AsyncIterableIterator<string[]>;

  constructor(program: string, args: readonly string[], settings: Settings, { folder }: Workplace) {
    this.#child = spawn(program, args, { cwd: folder, env: childEnvironment(settings) });
    const lines = createInterface({ input: this.#child.stdout });
    this.#lines = on(lines, 'line', { close: ['close'] });
    this.#child.stderr.resume();
  }

  send(message: object): void {
    this.#child.stdin.write(`${JSON.stringify(message)}\n`);
  }

  /** The lines up to and including the last one. */
  async readUntil(isLast: IsLast): Promise<string> {
    const timeout = setTimeout(() => this.stop(), TURN_TIMEOUT_MS);
    const read: string[] = [];
    try {
      for (;;) {
        const { value, done } = await this.#lines.next();
        const [line = ''] = done === true ? [] : value;
        if (done === true) throw new Error(`the agent stopped:\n${read.join('\n').slice(-2_000)}`);
        read.push(line);
        if (line.startsWith('{') && isLast(JSON.parse(line))) return read.join('\n');
      }
    } finally {
      clearTimeout(timeout);
    }
  }

  stop(): void {
    this.#child.kill('SIGKILL');
  }
}

/** Starts Codex as the server of an editor: https://github.com/openai/codex/tree/main/codex-rs/app-server */
export async function startCodex(program: string, workplace: Workplace): Promise<AgentProcess> {
  const { home, folder, baseUrl, apiKey, model } = workplace;
  const config = [
    'model_provider = "genway"',
    '[model_providers.genway]',
    'name = "Genway"',
    `base_url = "${baseUrl}/v1"`,
    'env_key = "GENWAY_KEY"',
    'wire_api = "responses"',
  ];
  await writeFile(join(home, 'config.toml'), config.join('\n'));
  const agent = new LineProcess(program, ['app-server'], { CODEX_HOME: home, GENWAY_KEY: apiKey }, workplace);
  let requests = 0;
  const call = async (method: string, params: object): Promise<string> => {
    requests += 1;
    const id = requests;
    agent.send({ id, method, params });
    return agent.readUntil((message) => message['id'] === id);
  };
  await call('initialize', { clientInfo: { name: 'genway', title: 'Genway', version: '0.1.0' } });
  agent.send({ method: 'initialized' });
  const started = await call('thread/start', {
    model,
    cwd: folder,
    approvalPolicy: 'never',
    sandbox: 'danger-full-access',
  });
  const threadId = /"thread":\{"id":"([^"]+)"/.exec(started)?.[1];
  const takeTurn = async (method: string, params: object): Promise<string> => {
    const answer = await call(method, { threadId, ...params });
    return answer + (await agent.readUntil((message) => message['method'] === 'turn/completed'));
  };
  return {
    ask: (text) => takeTurn('turn/start', { input: [{ type: 'text', text }] }),
    compact: async (lastTurn) => {
      if (lastTurn.includes('contextWindowExceeded')) await takeTurn('thread/compact/start', {});
    },
    stop: () => agent.stop(),
  };
}

/** Starts Claude Code as its SDKs do: https://code.claude.com/docs/en/headless */
export async function startClaudeCode(program: string, workplace: Workplace): Promise<AgentProcess> {
  const { home, baseUrl, apiKey, model } = workplace;
  const args = ['-p', '--verbose', '--input-format', 'stream-json', '--output-format', 'stream-json'];
  const settings = {
    HOME: home,
    ANTHROPIC_BASE_URL: baseUrl,
    ANTHROPIC_AUTH_TOKEN: apiKey,
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    // As root it skips the questions for permissions only in a sandbox.
    IS_SANDBOX: '1',
  };
  const all = [...args, '--dangerously-skip-permissions', '--model', model];
  const agent = new LineProcess(program, all, settings, workplace);
  return {
    ask: (text) => {
      agent.send({ type: 'user', message: { role: 'user', content: [{ type: 'text', text }] } });
      return agent.readUntil(({ type }) => type === 'result');
    },
    // It compacts by itself.
    compact: async () => {},
    stop: () => agent.stop(),
  };
}
