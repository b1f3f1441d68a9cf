import { expect } from 'chai';
import Anthropic from '@anthropic-ai/sdk';
import { GoogleGenAI } from '@google/genai';
import OpenAI from 'openai';
import { presentModel } from '../../../../api/routes/models/present.ts';
import { findUnavailableReason } from '../../../../services/operations/unavailable-model.ts';
import { CATALOGUE } from '../../../support/catalogue.ts';
import { allModels, type MediaModel, type TextModel } from '../../../../catalogue/types.ts';
import { baseUrlsAt } from '../../../../providers/text/settings.ts';
import { type ErrorBody, useTestApp } from '../../../support/app.ts';
import { call } from '../../../support/stack.ts';

interface ModelBody {
  readonly id: string;
  readonly object: string;
  readonly created: number;
  readonly owned_by: string;
  readonly kind: string;
  readonly formats?: readonly string[];
  readonly unavailable_reason?: string;
  readonly limits: Readonly<Record<string, unknown>>;
  readonly prices: Readonly<Record<string, unknown>>;
}

const CREATED = Date.parse('2026-10-01') / 1000;

describe('GET /v1/models', () => {
  let apiKey: string;

  const app = useTestApp({
    textUpstreams: [{ name: 'simulator', apiKeys: ['k'], baseUrls: baseUrlsAt('http://127.0.0.1:1') }],
  });
  before(async () => {
    ({ apiKey } = await app.createAccount({ fundedUsd: 1 }));
  });

  async function list(key: string = apiKey, query = ''): Promise<readonly ModelBody[]> {
    const { status, body } = await call<{ object: string; data: ModelBody[] }>(`${app.baseUrl}/v1/models${query}`, {
      key,
    });
    expect([status, body.object]).to.deep.equal([200, 'list']);
    return body.data;
  }

  async function get(id: string): Promise<ModelBody> {
    const { status, body } = await call<ModelBody>(`${app.baseUrl}/v1/models/${id}`, { key: apiKey });
    expect(status).to.equal(200);
    return body;
  }

  it('lists every model of the catalogue to a key without a group', async () => {
    // contract 2.8:1 4.6:1
    const models = await list();
    expect(models.map(({ id }) => id)).to.deep.equal([
      ...CATALOGUE.textModels.keys(),
      ...CATALOGUE.videoModels.keys(),
      ...CATALOGUE.imageModels.keys(),
    ]);
    for (const model of models) {
      expect(model).to.include({ object: 'model', owned_by: 'genway', created: CREATED });
      expect(model.kind).to.be.oneOf(['video', 'image', 'text']);
    }
  });

  it('lists the models of one kind on request', async () => {
    // contract 4.6:1
    const kinds = { text: CATALOGUE.textModels, video: CATALOGUE.videoModels, image: CATALOGUE.imageModels };
    for (const [kind, models] of Object.entries(kinds)) {
      expect((await list(apiKey, `?kind=${kind}`)).map(({ id }) => id)).to.deep.equal([...models.keys()]);
    }
    expect((await fetch(`${app.baseUrl}/v1/models?kind=sound`, { headers: { 'x-api-key': apiKey } })).status).to.equal(
      400,
    );
  });

  it('is served below a base URL with a doubled version', async () => {
    // contract 4:4
    const headers = { 'x-api-key': apiKey };
    for (const path of [
      '/v1/v1/models',
      '/v1/v1beta/models/texth-4-argon',
      '/v1beta/v1beta/models',
      '/v1/v1/models?kind=text',
    ]) {
      expect((await fetch(app.baseUrl + path, { headers })).status, path).to.equal(200);
    }
    expect((await fetch(`${app.baseUrl}/v1/v1/v1/models`, { headers })).status).to.equal(404);
  });

  it('accepts the key in the header of any format, next to a client library’s placeholder', async () => {
    // contract 4.6:4 5:1 5:4
    const accepted: readonly Readonly<Record<string, string>>[] = [
      { 'x-api-key': apiKey },
      { 'x-native-api-key': apiKey },
      { 'x-goog-api-key': apiKey },
      { authorization: `Bearer ${apiKey}`, 'x-goog-api-key': 'placeholder' },
    ];
    for (const headers of accepted) {
      for (const path of ['/v1/models', '/v1/models/texth-4-argon']) {
        expect((await fetch(app.baseUrl + path, { headers })).status, JSON.stringify(headers)).to.equal(200);
      }
    }
    expect((await fetch(`${app.baseUrl}/v1/models`)).status).to.equal(401);
    expect((await fetch(`${app.baseUrl}/v1/balance`, { headers: { 'x-api-key': apiKey } })).status).to.equal(401);
  });

  it('answers on the text address as well', async () => {
    // contract 1:10 1:11 4.6:4
    const textUrl = await app.startText();
    const lists = [app.baseUrl, textUrl].map(async (url) => {
      const response = await fetch(`${url}/v1/models`, { headers: { 'x-api-key': apiKey } });
      return [response.status, await response.json()] as const;
    });
    const [onBase, onText] = await Promise.all(lists);
    expect(onText).to.deep.equal(onBase);
    expect(onText?.[0]).to.equal(200);
    expect((await fetch(`${textUrl}/v1/balance`, { headers: { authorization: `Bearer ${apiKey}` } })).status).to.equal(
      404,
    );
  });

  it('lists only the models of the group of the key, and answers 404 for others', async () => {
    // contract 4.6:1 4.6:2
    const models = ['textg-6-sol', 'vidone-3.0', 'a-model-that-was-withdrawn'];
    const { apiKey: grouped } = await app.createAccount({ fundedUsd: 1, key: { models } });
    expect((await list(grouped)).map(({ id }) => id)).to.deep.equal(['textg-6-sol', 'vidone-3.0']);
    const other = await call<ErrorBody>(`${app.baseUrl}/v1/models/vidtwo-1.1`, { key: grouped });
    expect([other.status, other.body.error.code]).to.deep.equal([404, 'not_found']);
  });

  it('lists only free models before the first top-up, and on request the others with the reason', async () => {
    const { apiKey: poor } = await app.createAccount();
    const free = [...CATALOGUE.textModels.values()].filter((model) => model.free && !model.requiresTopUp);
    expect(free).to.have.length.above(0);
    expect((await list(poor)).map(({ id }) => id)).to.deep.equal(free.map(({ id }) => id));
    const all = await list(poor, '?all=true');
    expect(all).to.have.length(allModels(CATALOGUE).length);
    for (const { id, unavailable_reason: reason } of all) {
      const isFree = free.some((model) => model.id === id);
      expect(reason, id).to.equal(isFree ? undefined : 'top_up_required');
    }
  });

  it('omits models that operators disabled, and text models whose upstreams they disabled', async () => {
    const order = async (path: string): Promise<void> => {
      const body = { reason: 'maintenance', author: 'Ada', ...(path.endsWith('/rest') && { seconds: 60 }) };
      const { status } = await call(`${app.baseUrl}/admin/v1/${path}`, { key: app.adminToken, body });
      expect(status, path).to.be.within(200, 299);
    };
    const reasonOf = async (id: string): Promise<string | undefined> =>
      (await list(apiKey, '?all=true')).find((model) => model.id === id)?.unavailable_reason;
    await order('models/vidone-3.0/disable');
    expect((await list()).map(({ id }) => id)).to.not.include('vidone-3.0');
    expect(await reasonOf('vidone-3.0')).to.equal('disabled');
    await order('models/vidone-3.0/enable');
    await order('upstreams/simulator/rest');
    expect((await list()).map(({ kind }) => kind)).to.not.include('text');
    expect(await reasonOf('textg-6-sol')).to.equal('no_route');
    expect((await get('textg-6-sol')).unavailable_reason).to.equal('no_route');
    await order('upstreams/simulator/resume');
    expect(await reasonOf('textg-6-sol')).to.equal(undefined);
  });

  it('names for each omitted model the reason for which calls are refused', () => {
    const video = CATALOGUE.videoModels.get('vidone-3.0') ?? expect.fail();
    const text = CATALOGUE.textModels.get('textg-6-sol') ?? expect.fail();
    const free = CATALOGUE.textModels.get('texth-3.8-flash-free') ?? expect.fail();
    for (const [model, change, reason] of [
      [text, {}, null],
      [video, {}, null],
      [text, { models: ['vidone-3.0'] }, 'not_allowed'],
      [text, { isDisabled: true }, 'disabled'],
      [video, { isDisabled: true }, 'disabled'],
      [text, { hasRoute: false }, 'no_route'],
      [free, { hasRoute: false, hasToppedUp: false }, 'no_route'],
      [free, { hasToppedUp: false }, null],
      [text, { hasToppedUp: false, isDisabled: true }, 'top_up_required'],
      [video, { hasToppedUp: false }, 'top_up_required'],
      [video, { hasToppedUp: false, models: [] }, 'not_allowed'],
    ] as const satisfies readonly (readonly [MediaModel | TextModel, Situation, string | null])[]) {
      expect(whyIn(model, change), `${model.id} ${JSON.stringify(change)}`).to.equal(reason);
    }
  });

  it('the widely used SDK parses the list of models', async () => {
    // contract 2:5
    const client = new OpenAI({ apiKey, baseURL: `${app.baseUrl}/v1`, maxRetries: 0 });
    const ids: string[] = [];
    for await (const { id } of client.models.list()) ids.push(id);
    expect(ids).to.include.members(['vidone-3.0', 'imagea-2.5-sunburst', 'texti-k3']);
    expect(await client.models.retrieve('texti-k3')).to.include({ id: 'texti-k3', object: 'model', created: CREATED });
  });

  for (const apiVersion of ['v1', 'v1beta']) {
    it(`lists the models of the native format to its SDK under /${apiVersion}, and shows each`, async () => {
      // contract 4.6:5 4.6:6
      const client = new GoogleGenAI({ apiKey, apiVersion, httpOptions: { baseUrl: app.baseUrl } });
      const names: (string | undefined)[] = [];
      for await (const { name } of await client.models.list()) names.push(name);
      const native = [...CATALOGUE.textModels.values()].filter(({ formats }) => formats.includes('generate-content'));
      expect(names).to.deep.equal(native.map(({ id }) => `models/${id}`));
      expect(await client.models.get({ model: 'texth-4-argon' })).to.include({ name: 'models/texth-4-argon' });
      const other = await fetch(`${app.baseUrl}/${apiVersion}/models/texti-k3`, {
        headers: { 'x-goog-api-key': apiKey },
      });
      expect(other.status).to.equal(404);
    });
  }

  it('lists the models of the messages format to its SDK, page by page, and shows each', async () => {
    // contract 4.6:7
    const client = new Anthropic({ apiKey, baseURL: app.baseUrl, maxRetries: 0 });
    const expected = [...CATALOGUE.textModels.values()].flatMap(({ id, formats }) =>
      formats.includes('messages') ? [id] : [],
    );
    const ids: string[] = [];
    for await (const { id } of client.models.list({ limit: 3 })) ids.push(id);
    expect(ids).to.deep.equal(expected);
    const last = await client.models.list({ before_id: expected[4] ?? '', limit: 2 });
    expect(last.data.map(({ id }) => id)).to.deep.equal(expected.slice(2, 4));
    expect(last).to.include({ has_more: true, first_id: expected[2], last_id: expected[3] });
    expect(await client.models.retrieve('texti-k3')).to.include({
      type: 'model',
      id: 'texti-k3',
      display_name: 'texti-k3',
      created_at: '2026-10-01T00:00:00.000Z',
      lifecycle: 'active',
      max_input_tokens: 1_048_576,
      max_tokens: 128_000,
    });
    expect(await client.models.retrieve('textg-5.6-sol')).to.include({ lifecycle: 'deprecated' });
    const headers = { 'x-api-key': apiKey, 'anthropic-version': '2023-06-01' };
    for (const [path, status] of [
      ['?limit=0', 400],
      ['/vidone-3.0', 404],
    ] as const) {
      expect((await fetch(`${app.baseUrl}/v1/models${path}`, { headers })).status).to.equal(status);
    }
  });

  it('shows the limits and prices of a video model', async () => {
    // contract 2.8:2 4.6:2
    const model = await get('vidtwo-1.1');
    expect(model.kind).to.equal('video');
    expect(model.limits).to.deep.equal({
      prompt_characters: { min: 1, max: 5000 },
      duration_seconds: { min: 3, max: 15, default: 5 },
      images: { min: 1, max: 9 },
      reference_videos: { min: 0, max: 0 },
      reference_audios: { min: 0, max: 0 },
      aspect_ratios: ['16:9', '9:16', '1:1', '4:3', '3:4'],
      resolutions: ['720p', '1080p'],
    });
    expect(model.prices).to.deep.equal({
      unit: 'second',
      by_resolution: { '720p': 0.08, '1080p': 0.12 },
      modifiers: [],
    });
  });

  it('shows the limits and prices of an image model', async () => {
    // contract 2.8:3
    const model = await get('imagea-2.5-sunburst');
    expect(model.kind).to.equal('image');
    expect(model.limits).to.deep.include({ images: { min: 0, max: 16 }, resolutions: ['1K', '2K', '4K'] });
    expect(model.prices).to.deep.equal({
      unit: 'image',
      by_resolution: { '1K': 0.04, '2K': 0.08, '4K': 0.16 },
      modifiers: [],
    });
  });

  it('shows the limits and prices of a text model, with its tiers and peaks', async () => {
    // contract 2.8:4
    const flat = await get('texte-3');
    expect(flat).to.deep.include({
      kind: 'text',
      family: 'texte',
      formats: ['chat-completions', 'responses', 'messages'],
      limits: { context_tokens: 256_000, max_output_tokens: 64_000 },
    });
    expect(flat.prices).to.deep.include({ unit: '1M tokens', input: 0.05775, output: 0.231, tiers: [] });
    expect(flat.prices['peaks']).to.deep.equal([
      {
        utc_offset_minutes: 480,
        days: ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'],
        windows: [{ from: '08:00', to: '24:00' }],
        factor: 1.6,
      },
    ]);
    expect((await get('textc-M3')).prices['tiers']).to.deep.equal([
      { threshold_tokens: 512_000, applies: 'over', factor: 2 },
    ]);
  });

  it('shows no number that is not published, and no price for a free model', async () => {
    // contract 2.8:4
    const free = await get('texth-3.8-flash-free');
    expect(free).to.deep.include({ free: true, limits: { context_tokens: null, max_output_tokens: null } });
    expect(free.prices).to.deep.include({ input: 0, output: 0, cached_input: 0, cache_write: 0 });
  });

  for (const id of ['vidone-9', 'textc-m3', 'VIDONE-3.0', '__proto__', '%00', '%F0%9F%98%80', 'a'.repeat(3000)]) {
    it(`answers 404 not_found for the id ${id.slice(0, 20)}`, async () => {
      // contract 4.6:2
      const { status, body } = await call<ErrorBody>(`${app.baseUrl}/v1/models/${id}`, { key: apiKey });
      expect([status, body.error.code]).to.deep.equal([404, 'not_found']);
    });
  }

  it('needs a key', async () => {
    for (const path of ['/v1/models', '/v1/models/vidone-3.0']) {
      expect((await call(app.baseUrl + path)).status).to.equal(401);
    }
  });
});

interface Situation {
  readonly models?: readonly string[];
  readonly hasToppedUp?: boolean;
  readonly isDisabled?: boolean;
  readonly hasRoute?: boolean;
}

/** Returns why a model cannot be called. The parameters override an ordinary situation. */
function whyIn(
  model: MediaModel | TextModel,
  { models, hasToppedUp = true, isDisabled = false, hasRoute = true }: Situation,
): string | null {
  const order = { model: model.id, kind: 'disable', reason: 'r', author: 'a', createdAt: new Date() } as const;
  return findUnavailableReason(
    model,
    { key: { models: models ?? null }, account: { toppedUpAt: hasToppedUp ? new Date() : null } },
    { models: { disabledBy: () => (isDisabled ? order : null) }, upstreams: { hasRoute: () => hasRoute } },
  );
}

describe('the creation time of models', () => {
  it('is that of the edition of the catalogue, and 0 when the edition is not a date', () => {
    const model = CATALOGUE.videoModels.get('vidone-3.0') ?? expect.fail();
    expect(presentModel(model, { version: '2026-10-01' })).to.include({ created: CREATED });
    for (const version of ['autumn', '2026-13-01', '2026'])
      expect(presentModel(model, { version })).to.include({ created: 0 });
  });

  it('does not hide that a model is an older one', () => {
    // contract 2.8:4 9:4
    const model = CATALOGUE.textModels.get('textg-5.6-sol') ?? expect.fail();
    expect(presentModel(model, CATALOGUE)).to.include({ legacy: true });
  });
});
