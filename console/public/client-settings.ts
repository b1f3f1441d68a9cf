/** The settings of clients of the well-known APIs, as docs/clients.md has them. */

export interface ClientPlace {
  /** Without a trailing slash. */
  readonly url: string;
  /** The name of the service. */
  readonly product: string;
  /** A name of the service without spaces, in configuration files. */
  readonly id: string;
  /** The variable that holds the key. */
  readonly variable: string;
}

export interface ClientSettings {
  readonly client: string;
  /** The lines of the environment, or of a configuration file. */
  readonly lines: readonly string[];
}

/** Lists the settings; `sk-…` stands for the key, and `MODEL` for the model. */
export function clientSettings({ url, product, id, variable }: ClientPlace): readonly ClientSettings[] {
  return [
    { client: 'OpenAI SDK', lines: [`OPENAI_BASE_URL=${url}/v1`, 'OPENAI_API_KEY=sk-…'] },
    { client: 'Anthropic SDK', lines: [`ANTHROPIC_BASE_URL=${url}`, 'ANTHROPIC_API_KEY=sk-…'] },
    { client: 'Google Gen AI SDK', lines: [`GOOGLE_GEMINI_BASE_URL=${url}`, 'GEMINI_API_KEY=sk-…'] },
    { client: 'Google ADK', lines: [`GOOGLE_GEMINI_BASE_URL=${url}`, 'GOOGLE_API_KEY=sk-…'] },
    { client: 'Cohere SDK', lines: [`CO_API_URL=${url}`, 'CO_API_KEY=sk-…'] },
    {
      client: 'Claude Code',
      lines: [`ANTHROPIC_BASE_URL=${url}`, 'ANTHROPIC_AUTH_TOKEN=sk-…', 'ANTHROPIC_MODEL=MODEL'],
    },
    {
      client: 'Codex CLI',
      lines: [
        'model = "MODEL"',
        `model_provider = "${id}"`,
        `[model_providers.${id}]`,
        `name = ${JSON.stringify(product)}`,
        `base_url = "${url}/v1"`,
        `env_key = "${variable}"`,
        'wire_api = "responses"',
      ],
    },
    {
      client: 'Copilot CLI',
      lines: [
        `COPILOT_PROVIDER_BASE_URL=${url}/v1`,
        'COPILOT_PROVIDER_TYPE=openai',
        'COPILOT_PROVIDER_API_KEY=sk-…',
        'COPILOT_MODEL=MODEL',
        'COPILOT_OFFLINE=true',
      ],
    },
    { client: 'Qwen Code', lines: [`OPENAI_BASE_URL=${url}/v1`, 'OPENAI_API_KEY=sk-…', 'OPENAI_MODEL=MODEL'] },
    { client: 'aider', lines: [`aider --openai-api-base ${url}/v1 --openai-api-key sk-… --model openai/MODEL`] },
  ];
}
