/**
 * Text over Vertex, Bedrock and Azure, from real sockets to real sockets: every feature from clients of each format, with
 * tokens and signatures that the clouds check.
 */
import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { parse } from 'yaml';
import { WIRE_FORMAT_NAMES, type UpstreamFormatName, type WireFormatName } from '../../../domain/wire-format-name.ts';
import { textUpstreamSchema, toTextUpstream, type TextUpstreamSettings } from '../../../providers/text/settings.ts';
import { AZURE_KEY, BEDROCK_KEY, type Clouds, startClouds } from '../../support/clouds/clouds.ts';
import { AWS_KEY, AWS_KEY_ID, AZURE_SECRET, AZURE_TENANT, ROLE } from '../../../lab/stack/clouds/token-services.ts';
import { useEnvironment } from '../../support/environment.ts';
import { useStarted } from '../../support/started.ts';
import { ASK, textModel, useTestText } from '../../support/text.ts';

interface Target {
  readonly provider: string;
  readonly format: UpstreamFormatName;
  readonly model: string;
}

/** Every way to a model at a cloud. Reasoning models of the simulator have a name that begins with `textg`. */
const TARGETS: Readonly<Record<string, Target>> = {
  'vertex-gemini': { provider: 'vertex', format: 'generate-content', model: 'textg-gemini' },
  'vertex-claude': { provider: 'vertex', format: 'messages', model: 'textg-claude@20250929' },
  'vertex-chat': { provider: 'vertex', format: 'chat-completions', model: 'textg-llama' },
  'bedrock-invoke': { provider: 'bedrock', format: 'messages', model: 'textg.anthropic.claude-v1:0' },
  'bedrock-converse': {
    provider: 'bedrock',
    format: 'converse',
    model: 'arn:aws:bedrock:us-east-1:123456789012:inference-profile/textg.anthropic.claude',
  },
  'bedrock-role': { provider: 'bedrock-role', format: 'converse', model: 'textg-nova' },
  'bedrock-chat': { provider: 'bedrock-key', format: 'chat-completions', model: 'textg-oss' },
  'azure-chat': { provider: 'azure', format: 'chat-completions', model: 'textg-deployment' },
  'azure-responses': { provider: 'azure', format: 'responses', model: 'textg-deployment' },
  'azure-older': { provider: 'azure-older', format: 'chat-completions', model: 'textg-deployment' },
  'azure-claude': { provider: 'azure-key', format: 'messages', model: 'textg-claude' },
};

function upstreamsAt(clouds: Clouds): readonly TextUpstreamSettings[] {
  const { url } = clouds;
  const token_url = `${url}/tokens/azure`;
  const aws = { access_key_id: AWS_KEY_ID, secret_access_key: AWS_KEY.secret };
  const azure = { tenant_id: AZURE_TENANT, client_id: 'client-1', client_secret: AZURE_SECRET, token_url };
  const entries = [
    {
      name: 'vertex',
      platform: 'vertex',
      project: 'project-1',
      region: 'europe-west1',
      auth: { google: { credentials: JSON.stringify(clouds.serviceAccount()), token_url: `${url}/tokens/google` } },
    },
    { name: 'bedrock', platform: 'bedrock', region: 'us-east-1', auth: { aws } },
    {
      name: 'bedrock-role',
      platform: 'bedrock',
      region: 'us-east-1',
      auth: { aws: { ...aws, role_arn: ROLE, token_url: `${url}/tokens/aws` } },
    },
    { name: 'bedrock-key', platform: 'bedrock', region: 'us-east-1', api_key: BEDROCK_KEY },
    { name: 'azure', platform: 'azure', auth: { azure } },
    { name: 'azure-key', platform: 'azure', api_key: AZURE_KEY },
    { name: 'azure-older', platform: 'azure', api_version: '2024-10-21', api_key: AZURE_KEY },
  ];
  return entries.map((entry) => {
    const { value, error } = textUpstreamSchema.validate({ ...entry, base_url: url });
    if (error) throw error;
    return toTextUpstream(value);
  });
}

const SCHEMA = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
};

/** What a client of each format sends beside the prompt, for each feature. */
const FEATURES: Readonly<
  Record<string, { readonly prompt: string; readonly answer: RegExp; readonly fields: Record<WireFormatName, object> }>
> = {
  text: {
    prompt: 'Say exactly: Grüße, 世界',
    answer: /Grüße, 世界/,
    fields: { 'chat-completions': {}, responses: {}, messages: {}, 'generate-content': {} },
  },
  tools: {
    prompt: 'Call look with {"city":"Oslo"}',
    answer: /look.*Oslo/s,
    fields: {
      'chat-completions': { tools: [{ type: 'function', function: { name: 'look', parameters: SCHEMA } }] },
      responses: { tools: [{ type: 'function', name: 'look', parameters: SCHEMA }] },
      messages: { tools: [{ name: 'look', input_schema: SCHEMA }] },
      'generate-content': { tools: [{ functionDeclarations: [{ name: 'look', parametersJsonSchema: SCHEMA }] }] },
    },
  },
  'json by schema': {
    prompt: 'Where is it?',
    answer: /\{.*city/s,
    fields: {
      'chat-completions': {
        response_format: { type: 'json_schema', json_schema: { name: 'place', schema: SCHEMA, strict: true } },
      },
      responses: { text: { format: { type: 'json_schema', name: 'place', schema: SCHEMA, strict: true } } },
      messages: { output_config: { format: { type: 'json_schema', schema: SCHEMA } } },
      'generate-content': { generationConfig: { responseMimeType: 'application/json', responseJsonSchema: SCHEMA } },
    },
  },
  'a stop sequence': {
    prompt: 'Say exactly: one STOP two',
    answer: /one/,
    fields: {
      'chat-completions': { stop: ['STOP'] },
      responses: {},
      messages: { stop_sequences: ['STOP'] },
      'generate-content': { generationConfig: { stopSequences: ['STOP'] } },
    },
  },
  'a system text': {
    prompt: 'Say exactly: kind',
    answer: /kind/,
    fields: {
      'chat-completions': {},
      responses: { instructions: 'Be kind.' },
      messages: { system: 'Be kind.' },
      'generate-content': { systemInstruction: { parts: [{ text: 'Be kind.' }] } },
    },
  },
};

/** The ways whose token or signature a cloud can refuse. */
const WITH_AUTH: readonly string[] = Object.keys(TARGETS).filter((id) => {
  const provider = targetOf(id).provider;
  return provider !== 'bedrock-key' && provider !== 'azure-key' && provider !== 'azure-older';
});

/** The upstreams of docs/upstreams.md, with a route to each. */
const DOCUMENTED = [
  ['vertex', 'generate-content', 'textg-gemini'],
  ['bedrock', 'messages', 'textg.anthropic.claude-v1:0'],
  ['azure', 'responses', 'textg-deployment'],
] as const;

/** The block of docs/upstreams.md as an operator would use it, at the addresses of the tests. */
function documentedUpstreamsAt(clouds: Clouds): readonly TextUpstreamSettings[] {
  const page = readFileSync(new URL('../../../docs/upstreams.md', import.meta.url), 'utf8');
  const [, block = ''] = /^```yaml\n(text:\n {2}- name: vertex\n[^]*?)```/m.exec(page) ?? [];
  const variables: Readonly<Record<string, string>> = {
    AZURE_TENANT_ID: AZURE_TENANT,
    AZURE_CLIENT_ID: 'client-1',
    AZURE_CLIENT_SECRET: AZURE_SECRET,
  };
  const { text: entries } = parse(block.replaceAll(/\$\{(\w+)\}/g, (_, name: string) => variables[name] ?? ''));
  return entries.map((entry: { readonly name: string; readonly auth: Readonly<Record<string, object>> }) => {
    const [[kind, auth] = ['', {}]] = Object.entries(entry.auth);
    const { credentials_file: file, ...own } = { credentials_file: undefined, ...auth };
    const given = file === undefined ? own : { ...own, credentials: JSON.stringify(clouds.serviceAccount()) };
    const { value, error } = textUpstreamSchema.validate({
      ...entry,
      name: `documented-${entry.name}`,
      base_url: clouds.url,
      auth: { [kind]: { ...given, token_url: `${clouds.url}/tokens/${kind}` } },
    });
    if (error) throw error;
    return toTextUpstream(value);
  });
}

function targetOf(id: string): Target {
  const target = TARGETS[id];
  if (target === undefined) throw new Error(`there is no target ${id}`);
  return target;
}

describe('text over a cloud', () => {
  const clouds = useStarted(startClouds);
  const models = Object.entries(TARGETS).map(([id, target]) =>
    textModel(`textg-via-${id}`, [target], { compatibility: 'full' }),
  );
  const embedding = ['vertex-chat', 'azure-chat', 'azure-older'].map((id) =>
    textModel(`textm-embed-${id}`, [{ ...targetOf(id), model: 'textm-embed' }], {
      formats: ['embeddings'],
    }),
  );
  const withSimulator = WITH_AUTH.map((id) =>
    textModel(`textg-via-${id}-or-simulator`, [targetOf(id), { format: 'messages' }]),
  );
  const documented = DOCUMENTED.map(([provider, format, model]) =>
    textModel(`textg-documented-${provider}`, [{ provider: `documented-${provider}`, format, model }]),
  );
  const text = useTestText(() => ({
    upstreams: [...upstreamsAt(clouds), ...documentedUpstreamsAt(clouds)],
    models: [...models, ...embedding, ...withSimulator, ...documented],
  }));

  async function ask(format: WireFormatName, id: string, prompt: string, fields: object, stream: boolean) {
    const { path, body } = ASK[format](`textg-via-${id}`, prompt, stream);
    const response = await text.post(path, { ...body, ...fields });
    return { status: response.status, words: wordsOf(await response.text()), format };
  }

  for (const id of Object.keys(TARGETS)) {
    for (const [feature, { prompt, fields, answer }] of Object.entries(FEATURES)) {
      it(`carries ${feature} of every format to ${id}, whole and streamed, and charges for it`, async () => {
        const count = text.outcomes.length;
        const answers = await Promise.all(
          WIRE_FORMAT_NAMES.flatMap((format) =>
            [false, true].map((stream) => ask(format, id, prompt, fields[format], stream)),
          ),
        );
        for (const { status, words, format } of answers) {
          expect(status, words).to.equal(200);
          expect(words, format).to.match(answer);
        }
        await text.idle();
        const outcomes = text.outcomes.slice(count);
        expect(outcomes.map(({ errorCode }) => errorCode)).to.deep.equal(answers.map(() => null));
        for (const { usage } of outcomes) {
          expect(usage?.inputTotal).to.be.greaterThan(0);
          expect(usage?.outputTotal).to.be.greaterThan(0);
        }
      });
    }
  }

  /** The clients' messages in the messages format, to a model. */
  const send = (id: string, messages: readonly object[], fields: object = {}) =>
    text.post('/v1/messages', { model: `textg-via-${id}`, max_tokens: 2_000, messages, ...fields });

  for (const id of Object.keys(TARGETS)) {
    it(`carries a picture, reasoning and the result of a tool to ${id} in a second turn`, async () => {
      const question = [
        { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' } },
        { type: 'text', text: 'Call look with {"city":"Oslo"}' },
      ];
      const first = { role: 'user', content: question };
      const tools = [{ name: 'look', input_schema: SCHEMA }];
      const fields = { tools, thinking: { type: 'adaptive', display: 'summarized' } };
      const response = await send(id, [first], fields);
      const { content } = Object(await response.json());
      expect(response.status, JSON.stringify(content)).to.equal(200);
      const call = content.find(({ type }: { type: string }) => type === 'tool_use');
      const result = { type: 'tool_result', tool_use_id: call.id, content: 'rain' };
      const turns = [first, { role: 'assistant', content }, { role: 'user', content: [result] }];
      const second = await send(id, turns, fields);
      const answer = await second.text();
      expect(second.status, answer).to.equal(200);
      expect(wordsOf(answer)).to.include('look => rain');
    });
  }

  for (const id of ['vertex-claude', 'bedrock-invoke', 'bedrock-converse', 'azure-claude']) {
    it(`charges tokens in the cache of ${id} as such`, async () => {
      const words = `${id} `.repeat(600);
      const mark = { cache_control: { type: 'ephemeral' } };
      const content = [
        { type: 'text', text: words, ...mark },
        { type: 'text', text: 'Say exactly: yes' },
      ];
      const count = text.outcomes.length;
      for (let turn = 0; turn < 2; turn += 1) {
        const response = await send(id, [{ role: 'user', content }]);
        expect(response.status, await response.text()).to.equal(200);
      }
      await text.idle();
      const [written, read] = text.outcomes.slice(count);
      expect(written?.usage?.cacheWrite).to.be.greaterThan(300);
      expect(read?.usage?.cacheRead).to.be.greaterThan(300);
      expect(read?.usage?.inputTotal).to.equal(written?.usage?.inputTotal);
    });
  }

  for (const id of ['vertex-gemini', 'vertex-claude', 'bedrock-invoke', 'azure-claude']) {
    it(`lets ${id} count the tokens of an input`, async () => {
      const messages = [{ role: 'user', content: 'Name three lighthouses.' }];
      const response = await text.post('/v1/messages/count_tokens', { model: `textg-via-${id}`, messages });
      expect(response.headers.get('x-genway-counted-by'), await response.text()).to.equal('model');
    });
  }

  for (const id of ['vertex-chat', 'azure-chat', 'azure-older']) {
    it(`passes on embeddings of ${id}`, async () => {
      const input = ['A lighthouse', 'A red kite'];
      const body = { model: `textm-embed-${id}`, input, encoding_format: 'float', dimensions: 8 };
      const response = await text.post('/v1/embeddings', body);
      const { data, usage } = Object(await response.json());
      expect(response.status).to.equal(200);
      expect(
        data.map(({ index, embedding }: { index: number; embedding: unknown[] }) => [index, embedding.length]),
      ).to.deep.equal([
        [0, 8],
        [1, 8],
      ]);
      expect(usage.prompt_tokens).to.be.greaterThan(0);
    });
  }

  for (const id of ['azure-chat', 'azure-responses', 'azure-older']) {
    it(`reports what the filter of ${id} refuses as a violation of the content policy`, async () => {
      const { path, body } = ASK['chat-completions'](`textg-via-${id}`, 'filter me', false);
      const response = await text.post(path, body);
      expect(Object(await response.json()).error.code).to.equal('content_policy_violation');
    });
  }

  for (const id of ['bedrock-invoke', 'bedrock-converse']) {
    it(`fails with an exception inside the stream of ${id}, and not as a complete answer`, async () => {
      const { path, body } = ASK['chat-completions'](
        `textg-via-${id}`,
        'Count [sim:tokens=20,fail=processing_failed,fail_after=3]',
        true,
      );
      const answer = await (await text.post(path, body)).text();
      await text.idle();
      expect(answer).to.include('"error"');
      expect(answer).not.to.include('"finish_reason":"stop"');
      expect(text.outcomes.at(-1)?.errorCode).to.equal('processing_failed');
      text.resumeUpstreams();
    });
  }

  it('sends clouds neither keys beside tokens nor fields of the vendors’ own addresses', () => {
    for (const { path, headers, body } of clouds.received) {
      const keys = ['x-api-key', 'x-goog-api-key', 'api-key', 'authorization'].filter((name) => name in headers);
      expect(keys, path).to.have.length(1);
      expect(JSON.stringify(body)).not.to.include('client-secret');
    }
    expect(text.logged()).not.to.match(/AWS4|PRIVATE KEY|a-client-secret|google-[0-9a-f-]{36}|azure-[0-9a-f-]{36}/);
  });

  describe('whose credentials fail', () => {
    const target = (id: string): string => `textg-via-${id}-or-simulator`;
    const say = async (id: string) => {
      const { path, body } = ASK.messages(target(id), 'Say exactly: from somewhere', false);
      const response = await text.post(path, body);
      return { status: response.status, words: wordsOf(await response.text()) };
    };
    const lastProvider = async () => {
      await text.idle();
      return text.outcomes.at(-1)?.upstream?.provider;
    };
    beforeEach(() => text.resumeUpstreams());
    afterEach(() => Object.assign(clouds.conduct, { mode: 'serve', skewMs: 0 }));

    it('takes the next route on every way when keys and roles are revoked, and charges for its answer', async () => {
      for (const id of WITH_AUTH) {
        expect([(await say(id)).status, await lastProvider()], id).to.deep.equal([200, targetOf(id).provider]);
      }
      clouds.conduct.mode = 'refuse';
      clouds.revokeTokens();
      clouds.awsKeys.clear();
      for (const id of WITH_AUTH) {
        expect([(await say(id)).status, await lastProvider()], id).to.deep.equal([200, 'simulator']);
        expect(text.outcomes.at(-1)?.usage?.outputTotal, id).to.be.greaterThan(0);
        text.resumeUpstreams();
      }
      clouds.awsKeys.set(AWS_KEY_ID, AWS_KEY);
    });

    it('takes the next route while the clock of Bedrock differs, and then corrects its own', async () => {
      expect([(await say('bedrock-invoke')).status, await lastProvider()]).to.deep.equal([200, 'bedrock']);
      clouds.conduct.skewMs = 20 * 60_000;
      expect([(await say('bedrock-invoke')).status, await lastProvider()]).to.deep.equal([200, 'simulator']);
      text.resumeUpstreams();
      expect([(await say('bedrock-invoke')).status, await lastProvider()]).to.deep.equal([200, 'bedrock']);
    });
  });

  describe('as docs/upstreams.md has it', () => {
    useEnvironment({ AWS_ACCESS_KEY_ID: AWS_KEY_ID, AWS_SECRET_ACCESS_KEY: AWS_KEY.secret });
    for (const [provider] of DOCUMENTED) {
      it(`answers over ${provider}`, async () => {
        const { path, body } = ASK.messages(`textg-documented-${provider}`, 'Say exactly: as documented', false);
        const response = await text.post(path, body);
        expect(wordsOf(await response.text())).to.include('as documented');
      });
    }
  });
});

/** The fields in which answers and events have words. */
const WORD_FIELDS = ['content', 'text', 'delta', 'arguments', 'partial_json', 'name', 'input', 'args'];

/** The words of an answer, joined: of a whole body, or of the events of a stream. */
function wordsOf(answer: string): string {
  const data = answer.startsWith('{') ? [answer] : answer.match(/(?<=^data: )\{.*$/gm);
  return (data ?? []).map((json) => wordsIn(JSON.parse(json))).join('');
}

function wordsIn(value: unknown): string {
  if (typeof value !== 'object' || value === null) return '';
  return Object.entries(value)
    .map(([name, inner]) => {
      if (name === 'args' || (name === 'input' && typeof inner === 'object')) return JSON.stringify(inner);
      return typeof inner === 'string' && WORD_FIELDS.includes(name) ? inner : wordsIn(inner);
    })
    .join('');
}
