import { expect } from 'chai';
import OpenAI from 'openai';
import { presentModel } from '../../../../api/routes/models/present.ts';
import { loadCatalogue } from '../../../../catalogue/load.ts';
import { type ErrorBody, startTestApp, type TestApp } from '../../../support/app.ts';
import { call } from '../../../support/stack.ts';

interface ModelBody {
  readonly id: string;
  readonly object: string;
  readonly created: number;
  readonly owned_by: string;
  readonly kind: string;
  readonly formats?: readonly string[];
  readonly limits: Readonly<Record<string, unknown>>;
  readonly prices: Readonly<Record<string, unknown>>;
}

const CATALOGUE = loadCatalogue();
const CREATED = Date.parse('2026-10-01') / 1000;

describe('GET /v1/models', () => {
  let app: TestApp;
  let apiKey: string;

  before(async () => {
    app = await startTestApp();
    ({ apiKey } = await app.createAccount());
  });
  after(() => app.stop());

  async function list(key: string = apiKey): Promise<readonly ModelBody[]> {
    const { status, body } = await call<{ object: string; data: ModelBody[] }>(`${app.baseUrl}/v1/models`, { key });
    expect([status, body.object]).to.deep.equal([200, 'list']);
    return body.data;
  }

  async function get(id: string): Promise<ModelBody> {
    const { status, body } = await call<ModelBody>(`${app.baseUrl}/v1/models/${id}`, { key: apiKey });
    expect(status).to.equal(200);
    return body;
  }

  it('lists every model of the catalogue to a key without a group', async () => {
    const models = await list();
    expect(models.map(({ id }) => id)).to.deep.equal([
      ...CATALOGUE.videoModels.keys(),
      ...CATALOGUE.imageModels.keys(),
      ...CATALOGUE.textModels.keys(),
    ]);
    for (const model of models) {
      expect(model).to.include({ object: 'model', owned_by: 'genway', created: CREATED });
      expect(model.kind).to.be.oneOf(['video', 'image', 'text']);
    }
  });

  it('takes the key in the header of any format, next to a client library’s placeholder', async () => {
    const accepted: readonly Readonly<Record<string, string>>[] = [
      { 'x-api-key': apiKey },
      { 'x-native-api-key': apiKey },
      { 'x-goog-api-key': apiKey },
      { authorization: `Bearer ${apiKey}`, 'x-goog-api-key': 'placeholder' },
    ];
    for (const headers of accepted) {
      for (const path of ['/v1/models', '/v1/models/textg-6-sol']) {
        expect((await fetch(app.baseUrl + path, { headers })).status, JSON.stringify(headers)).to.equal(200);
      }
    }
    expect((await fetch(`${app.baseUrl}/v1/models`)).status).to.equal(401);
    expect((await fetch(`${app.baseUrl}/v1/balance`, { headers: { 'x-api-key': apiKey } })).status).to.equal(401);
  });

  it('answers on the text address as well', async () => {
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

  it('lists only the models of the group of the key, and knows no other', async () => {
    const models = ['textg-6-sol', 'vidone-3.0', 'a-model-that-was-withdrawn'];
    const { apiKey: grouped } = await app.createAccount({ key: { models } });
    expect((await list(grouped)).map(({ id }) => id)).to.deep.equal(['vidone-3.0', 'textg-6-sol']);
    const other = await call<ErrorBody>(`${app.baseUrl}/v1/models/vidtwo-1.1`, { key: grouped });
    expect([other.status, other.body.error.code]).to.deep.equal([404, 'not_found']);
  });

  it('is parsed by the widely used SDK', async () => {
    const client = new OpenAI({ apiKey, baseURL: `${app.baseUrl}/v1`, maxRetries: 0 });
    const ids: string[] = [];
    for await (const { id } of client.models.list()) ids.push(id);
    expect(ids).to.include.members(['vidone-3.0', 'imagea-2.5-sunburst', 'texti-k3']);
    expect(await client.models.retrieve('texti-k3')).to.include({ id: 'texti-k3', object: 'model', created: CREATED });
  });

  it('shows what a video model takes and costs', async () => {
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
    expect(model.prices).to.deep.equal({ unit: 'second', by_resolution: { '720p': 0.08, '1080p': 0.12 } });
  });

  it('shows what an image model takes and costs', async () => {
    const model = await get('imagea-2.5-sunburst');
    expect(model.kind).to.equal('image');
    expect(model.limits).to.deep.include({ images: { min: 0, max: 16 }, resolutions: ['1K', '2K', '4K'] });
    expect(model.prices).to.deep.equal({ unit: 'image', by_resolution: { '1K': 0.04, '2K': 0.08, '4K': 0.16 } });
  });

  it('shows what a text model takes and costs, with its tiers and peaks', async () => {
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
    const free = await get('texth-3.8-flash-free');
    expect(free).to.deep.include({ free: true, limits: { context_tokens: null, max_output_tokens: null } });
    expect(free.prices).to.deep.include({ input: 0, output: 0, cached_input: 0, cache_write: 0 });
  });

  for (const id of ['vidone-9', 'textc-m3', 'VIDONE-3.0', '__proto__', '%00', '%F0%9F%98%80', 'a'.repeat(3000)]) {
    it(`is 404 not_found for the id ${id.slice(0, 20)}`, async () => {
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

describe('the creation time of models', () => {
  it('is that of the edition of the catalogue, and 0 when the edition is not called by its date', () => {
    const model = CATALOGUE.videoModels.get('vidone-3.0') ?? expect.fail();
    expect(presentModel(model, { version: '2026-10-01' }).created).to.equal(CREATED);
    for (const version of ['autumn', '2026-13-01', '2026'])
      expect(presentModel(model, { version }).created).to.equal(0);
  });

  it('does not hide that a model is an older one', () => {
    const model = CATALOGUE.textModels.get('textg-5.6-sol') ?? expect.fail();
    expect(presentModel(model, CATALOGUE)).to.include({ legacy: true });
  });
});
