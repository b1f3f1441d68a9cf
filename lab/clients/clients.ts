/** The clients that `npm run clients` tests: their packages, and the model of each. */

/** Demo models of `npm start` whose upstream has another format than the client, so that Genway converts requests and answers. */
const OVER = { native: 'demo-native', messages: 'demo-messages', responses: 'demo-responses' } as const;

/** Models that Codex knows by name, by the tools that it sends them. */
export const CODEX_NAMES = { 'codex-code': 'gpt-6-sol', 'codex-patch': 'gpt-5.5' } as const;

export interface Client {
  readonly name: string;
  /** The source of the packages; `none` for a client that the project has anyway. */
  readonly packages:
    | { readonly from: 'pypi' | 'npm'; readonly names: readonly [string, ...string[]] }
    | { readonly from: 'none' };
  /** A file of `programs`. */
  readonly program: string;
  readonly model: string;
  /** Variables of the program, beside the address, the key and the model. */
  readonly settings?: Readonly<Record<string, string>>;
}

const pypi = (...names: [string, ...string[]]) => ({ from: 'pypi', names }) as const;
const npm = (...names: [string, ...string[]]) => ({ from: 'npm', names }) as const;
const own = { from: 'none' } as const;

/** The agents that also hold long sessions: `npm run sessions`. */
export const CODEX = npm('@openai/codex@0.171.0');
export const CLAUDE_CODE = npm('@anthropic-ai/claude-code@2.1.332');

export const CLIENTS: readonly Client[] = [
  { name: 'OpenAI SDK, Node', packages: own, program: 'openai-sdk.mjs', model: OVER.messages },
  {
    name: 'OpenAI SDK, Python',
    packages: pypi('openai[realtime]==3.57.0'),
    program: 'openai_sdk.py',
    model: OVER.native,
  },
  { name: 'Anthropic SDK, Node', packages: own, program: 'anthropic-sdk.mjs', model: OVER.native },
  {
    name: 'Anthropic SDK, Python',
    packages: pypi('anthropic==2.13.0'),
    program: 'anthropic_sdk.py',
    model: OVER.responses,
  },
  { name: 'Cohere SDK', packages: pypi('cohere==7.3.1'), program: 'cohere_sdk.py', model: 'textm-rerank' },
  { name: 'Google Gen AI SDK, Node', packages: own, program: 'google-sdk.mjs', model: OVER.messages },
  {
    name: 'Google Gen AI SDK, Python',
    packages: pypi('google-genai==3.6.1'),
    program: 'google_sdk.py',
    model: OVER.messages,
  },
  ...(['openai', 'anthropic', 'google'] as const).map((library) => ({
    name: `LangChain, ${library}`,
    packages: pypi('langchain-openai==1.7.4', 'langchain-anthropic==1.7.10', 'langchain-google-genai==4.4.2'),
    program: 'langchain.py',
    model: OVER.messages,
    settings: { LIBRARY: library },
  })),
  {
    name: 'OpenAI Agents SDK',
    packages: pypi('openai-agents==0.24.0', 'openai==3.3.0'),
    program: 'openai_agents.py',
    model: OVER.native,
  },
  {
    name: 'OpenAI Agents SDK, realtime',
    packages: npm('@openai/agents@0.20.0', 'zod@4.6.7'),
    program: 'openai-agents-realtime.mjs',
    model: 'demo-realtime',
  },
  {
    name: 'Pydantic AI',
    packages: pypi('pydantic-ai-slim[anthropic,google,openai]==2.68.0'),
    program: 'pydantic_ai_agents.py',
    model: OVER.messages,
  },
  { name: 'Instructor', packages: pypi('instructor==1.17.0'), program: 'instructor_client.py', model: OVER.native },
  { name: 'Google ADK', packages: pypi('google-adk==2.13.0'), program: 'google_adk.py', model: OVER.responses },
  { name: 'LiteLLM SDK', packages: pypi('litellm==1.110.2'), program: 'litellm_client.py', model: OVER.native },
  { name: 'llm', packages: pypi('llm==0.36'), program: 'llm_cli.py', model: OVER.native },
  { name: 'aider', packages: pypi('aider-chat==0.86.2'), program: 'aider_cli.py', model: OVER.native },
  {
    name: 'AI SDK',
    packages: npm(
      'ai@7.0.173',
      '@ai-sdk/openai@4.0.118',
      '@ai-sdk/anthropic@4.0.105',
      '@ai-sdk/google@4.0.121',
      'zod@4.6.7',
    ),
    program: 'ai-sdk.mjs',
    model: OVER.messages,
  },
  ...(
    [
      ['Codex CLI', 'codex', CODEX],
      ['Gemini CLI', 'gemini', npm('@google/gemini-cli@0.61.0')],
      ['Claude Code', 'claude', CLAUDE_CODE, OVER.responses],
      ['opencode', 'opencode', npm('opencode-ai@1.18.33')],
      ['Copilot CLI', 'copilot', npm('@github/copilot@1.0.102')],
      ['Qwen Code', 'qwen', npm('@qwen-code/qwen-code@0.24.4'), OVER.native],
      ['Continue', 'cn', npm('@continuedev/cli@1.5.47'), OVER.responses],
      // The agent needs a newer Node than Genway.
      ['pi', 'pi', npm('@earendil-works/pi-coding-agent@1.6.0', 'node@24.11.0'), OVER.native],
    ] as const
  ).map(([name, agent, packages, model = OVER.messages]) => ({
    name,
    packages,
    program: 'agent-cli.mjs',
    model,
    settings: { AGENT: agent },
  })),
  {
    name: 'Codex CLI, WebSocket',
    packages: CODEX,
    program: 'agent-cli.mjs',
    model: OVER.messages,
    settings: { AGENT: 'codex', OVER_WEBSOCKETS: 'true' },
  },
  ...Object.entries(CODEX_NAMES).map(([TOOLS, model]) => ({
    name: `Codex CLI, ${model}`,
    packages: CODEX,
    program: 'agent-cli.mjs',
    model,
    settings: { AGENT: 'codex', TOOLS },
  })),
];
