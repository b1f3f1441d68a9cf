import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { Ajv } from 'ajv';
import { expect } from 'chai';
import type { JsonObject } from '../../../domain/json.ts';
import { eventually } from '../../support/eventually.ts';
import { rejectionOf } from '../../support/rejection.ts';
import { type Answer, call, useTestStack } from '../../support/stack.ts';
import { transfersOf } from '../../support/tasks.ts';
import { seenBy } from '../../support/text.ts';

interface Found {
  readonly capability_id: string;
  readonly kind: string;
  readonly summary: string;
  readonly price: { readonly usd: number; readonly for: string };
  readonly score: number;
}

interface Inspected extends Found {
  readonly inputs: JsonObject;
  readonly example: { readonly capability_id: string; readonly inputs: JsonObject };
  readonly limits: JsonObject;
  readonly prices: JsonObject;
}

describe('capabilities', () => {
  let key: string;
  const stack = useTestStack();
  before(async () => {
    await Promise.all([stack.api.start(), stack.worker.start()]);
    ({ apiKey: key } = await stack.createAccount({ fundedUsd: 100 }));
  });

  interface CapabilityError {
    readonly error: { readonly code: string; readonly docs: string };
  }
  const docs = (): string => `${stack.baseUrl}/docs/api#/Capabilities`;
  const post = <Body>(
    path: string,
    body: object,
    headers: Record<string, string> = {},
  ): Promise<Answer<Body & CapabilityError>> =>
    call<Body & CapabilityError>(`${stack.baseUrl}/v1/capabilities/${path}`, { key, body, headers });
  const search = async (body: object): Promise<readonly Found[]> =>
    (await post<{ data: Found[] }>('search', body)).body.data;

  it('are found by free words, by kind and below a price, best and cheapest first', async () => {
    // contract 4.15:1 4.15:4
    const clips = await search({ query: 'a short clip of a lighthouse' });
    expect(new Set(clips.map(({ kind }) => kind))).to.deep.equal(new Set(['video']));
    const drawings = await search({ query: 'please draw illustrations', limit: 20 });
    expect(new Set(drawings.map(({ kind }) => kind))).to.deep.equal(new Set(['image']));
    const cheap = await search({ kind: 'text', max_price_usd: 0.001, limit: 20 });
    expect(cheap.map(({ price }) => price.usd)).to.deep.equal(
      cheap.map(({ price }) => price.usd).toSorted((a, b) => a - b),
    );
    expect(Math.max(...cheap.map(({ price }) => price.usd))).to.be.at.most(0.001);
    expect(await search({ query: 'zebra crossing quantum' })).to.deep.equal([]);
    expect((await post('search', { kind: 'sound' })).status).to.equal(400);
  });

  it('are described by schemas that their examples fit, with limits and prices, and run with the example', async () => {
    // contract 4.15:2
    const { body: models } = await call<{ data: { id: string; formats?: string[] }[] }>(`${stack.baseUrl}/v1/models`, {
      key,
    });
    const runnable = models.data.filter(({ formats }) => formats?.includes('chat-completions') ?? true);
    expect(runnable.length).to.be.greaterThan(20);
    for (const { id: capability_id } of runnable) {
      const { data } = (await post<{ data: Inspected }>('inspect', { capability_id })).body;
      const ajv = new Ajv({ strict: false, logger: false });
      expect(ajv.validate(data.inputs, data.example.inputs), capability_id).to.equal(true);
      expect(data.inputs).to.not.have.nested.property('properties.model');
      expect([data.limits, data.prices]).to.not.include(undefined);
      const { status, body } = await post<{ data: { status?: string; text?: string } }>('run', {
        ...data.example,
        wait_seconds: 60,
      });
      expect(status, capability_id).to.equal(200);
      if (data.kind === 'text') expect(body.data.text).to.be.a('string');
      else expect(body.data.status).to.equal('succeeded');
    }
  });

  it('have a picture in their examples that every model takes', async () => {
    // contract 4.15:2
    const { data } = (await post<{ data: Inspected }>('inspect', { capability_id: 'vidtwo-1.1' })).body;
    const images = data.example.inputs['images'] ?? [];
    const { status, body } = await call<{ error?: unknown }>(`${stack.baseUrl}/v1/images/tasks`, {
      key,
      body: { model: 'imagea-2.5-sunburst', prompt: 'At night', images },
    });
    expect([status, body.error]).to.deep.equal([201, undefined]);
  });

  it('run once for one Idempotency-Key, and return the same task again', async () => {
    // contract 4.15:3
    const body = { capability_id: 'vidone-3.0', inputs: { prompt: 'A lighthouse' } };
    const headers = { 'Idempotency-Key': 'one-run' };
    const first = await post<{ data: { id: string } }>('run', body, headers);
    const again = await post<{ data: { id: string; status: string } }>('run', { ...body, wait_seconds: 30 }, headers);
    expect(again.body.data).to.include({ id: first.body.data.id, status: 'succeeded' });
    expect(await transfersOf(stack, first.body.data.id)).to.deep.equal(['reservation', 'settlement']);
    const inBody = { ...body, idempotency_key: 'another-run' };
    const [one, other] = [
      await post<{ data: { id: string } }>('run', inBody),
      await post<{ data: { id: string } }>('run', inBody),
    ];
    expect(one.body.data.id).to.equal(other.body.data.id).and.not.equal(first.body.data.id);
  });

  it('answer text at once, as requested', async () => {
    // contract 4.15:3
    const inputs = { prompt: 'Say exactly: lighthouse', system: 'Be kind.', max_tokens: 500 };
    const { body } = await post<{ data: { text: string } }>('run', { capability_id: 'textc-M3', inputs });
    expect(body.data.text).to.equal('lighthouse');
  });

  it('generate text once for one Idempotency-Key, also when the first connection is lost, and charge it once', async () => {
    // contract 4.15:3
    const { apiKey, accountId } = await stack.createAccount({ fundedUsd: 5 });
    const once = { 'Idempotency-Key': 'one-text' };
    const inputs = { prompt: '[sim:delay_ms=3000] Say exactly: lighthouse' };
    const run = (prompt: string, signal?: AbortSignal): Promise<Response> =>
      fetch(`${stack.baseUrl}/v1/capabilities/run`, {
        method: 'POST',
        headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json', ...once },
        body: JSON.stringify({ capability_id: 'textc-M3', inputs: { prompt } }),
        ...(signal && { signal }),
      });
    const leaving = new AbortController();
    const lost = rejectionOf(run(inputs.prompt, leaving.signal));
    // A request whose client leaves before its model is called generates nothing.
    await eventually(async () => JSON.stringify(await seenBy(stack.simulatorUrl, 20)).includes(inputs.prompt));
    await eventually(async () => (await run(inputs.prompt)).status === 409);
    leaving.abort();
    await lost;
    const repeated = await eventually(async () => {
      const response = await run(inputs.prompt);
      return response.status === 409 ? undefined : response;
    });
    expect([repeated.status, repeated.headers.get('idempotent-replayed')]).to.deep.equal([200, 'true']);
    expect(await repeated.json()).to.containSubset({ data: { text: 'lighthouse', finish_reason: 'stop' } });
    await eventually(async () => (await stack.database('text_requests').where({ account_id: accountId })).length > 0);
    expect(await stack.database('text_requests').where({ account_id: accountId })).to.have.length(1);
    expect((await run('Another prompt')).status).to.equal(409);
  });

  it('have errors that link to the documentation, and do not exist under other names', async () => {
    // contract 4.15:5
    for (const path of ['inspect', 'run']) {
      for (const capability_id of ['no-such', 'textm-embed']) {
        const { status, body } = await post(path, { capability_id });
        expect([status, body.error.code, body.error.docs]).to.deep.equal([404, 'not_found', docs()]);
      }
    }
    const refused = await post('run', { capability_id: 'vidone-3.0', inputs: { prompt: 'x', duration: 99 } });
    expect([refused.status, refused.body.error.code]).to.deep.equal([400, 'bad_request']);
    expect(refused.body.error.docs).to.equal(docs());
    for (const path of ['search', 'inspect', 'run']) {
      const response = await fetch(`${stack.baseUrl}/v1/capabilities/${path}`);
      const body = (await response.json()) as CapabilityError;
      expect([response.status, body.error.code, body.error.docs]).to.deep.equal([405, 'bad_request', docs()]);
    }
    expect((await fetch(docs())).status).to.equal(200);
  });

  it('are refused with 403 if the key may not call the model, and hidden from its searches', async () => {
    // contract 4.15:5
    const { apiKey } = await stack.createAccount({ fundedUsd: 5, key: { models: ['vidtwo-1.1'] } });
    for (const capability_id of ['vidone-3.0', 'textc-M3']) {
      for (const [path, status, code] of [
        ['run', 403, 'forbidden'],
        ['inspect', 404, 'not_found'],
      ] as const) {
        const body = { capability_id, ...(path === 'run' && { inputs: { prompt: 'A lighthouse' } }) };
        const answer = await call<CapabilityError>(`${stack.baseUrl}/v1/capabilities/${path}`, { key: apiKey, body });
        expect([answer.status, answer.body.error.code]).to.deep.equal([status, code]);
      }
    }
  });

  it('let an agent that knows only the tools of MCP find, price and run a video model and a text model', async () => {
    // contract 4.15:6
    const client = new Client({ name: 'agent', version: '1' });
    const requestInit = { headers: { authorization: `Bearer ${key}` } };
    await client.connect(new StreamableHTTPClientTransport(new URL(`${stack.baseUrl}/mcp`), { requestInit }));
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).to.deep.equal(['search', 'inspect', 'run']);
    const use = async <Result>(name: string, given: Record<string, unknown>): Promise<Result> => {
      const { content, isError = false } = await client.callTool({ name, arguments: given });
      const [part] = content as { text: string }[];
      expect(isError, part?.text).to.equal(false);
      return JSON.parse(part?.text ?? '') as Result;
    };
    const [video] = await use<Found[]>('search', { query: 'animate a scene', kind: 'video', max_price_usd: 1 });
    const known = await use<Inspected>('inspect', { capability_id: video?.capability_id });
    expect(known.price.usd).to.be.at.most(1);

    const started = await use<{ id: string; status: string; output: { media: { url: string }[] } }>('run', {
      capability_id: 'vidone-3.0',
      inputs: { prompt: 'A lighthouse' },
      idempotency_key: 'by-agent',
    });
    expect(started.status).to.equal('queued');
    const task = await use<typeof started>('run', {
      capability_id: 'vidone-3.0',
      inputs: { prompt: 'A lighthouse' },
      idempotency_key: 'by-agent',
      wait_seconds: 90,
    });
    expect([task.id, task.status]).to.deep.equal([started.id, 'succeeded']);
    expect((await fetch(task.output.media[0]?.url ?? '')).status).to.equal(200);
    const [text] = await use<Found[]>('search', { query: 'translate', kind: 'text', limit: 1 });
    const inputs = { prompt: 'Say exactly: phare' };
    const answer = await use<{ text: string }>('run', { capability_id: text?.capability_id, inputs });
    expect(answer.text).to.equal('phare');
    const refused = await client.callTool({ name: 'run', arguments: { capability_id: 'no-such', inputs: {} } });
    expect(refused.isError).to.equal(true);
    await client.close();
  });
});
