import { expect } from 'chai';
import OpenAI, { APIError, toFile } from 'openai';
import type { RenderRequest } from '../../../../providers/media/adapter.ts';
import { openaiImages } from '../../../../providers/media/adapters/openai-images.ts';
import { NotTakenError, OutcomeUnknownError } from '../../../../providers/media/outcomes.ts';
import { filesIn, imageRequest, sizeOf, sizesOf, testUpstream, usingVendor } from '../../../support/media.ts';
import { pngFile } from '../../../support/media-files.ts';
import { rejectionOf } from '../../../support/rejection.ts';
import { useSimulatedVendor } from '../../../support/simulated-vendor.ts';

const LINKS = ['https://example.com/1.png', 'https://example.com/2.png'];

describe('OpenAI’s images', () => {
  const { upstream, vendor } = useSimulatedVendor('openai-images', { apiKey: 'openai-key' }, (settings) =>
    testUpstream({ adapter: openaiImages, ...settings }),
  );

  /** A request with these images, which have been fetched. */
  const edit = (links: readonly string[], overrides: Partial<RenderRequest> = {}): RenderRequest =>
    imageRequest({
      images: links,
      files: new Map(links.map((link, index) => [link, pngInput(index)])),
      ...overrides,
    });

  it('are rendered by the simulator as the client of OpenAI expects', async () => {
    const client = new OpenAI({ apiKey: 'openai-key', baseURL: `${vendor.baseUrl}/v1`, maxRetries: 0 });
    const model = 'gpt-image-2.5-sunburst';
    const generated = await client.images.generate({ model, prompt: 'A lighthouse', size: '1536x864', n: 1 });
    expect(await sizesIn(generated.data)).to.deep.equal([[1536, 864]]);
    expect(generated.usage?.output_tokens).to.be.above(0);
    const files = [0, 1].map((index) => toFile(pngFile(), `${index}.png`, { type: 'image/png' }));
    for (const image of [await Promise.all(files), await toFile(pngFile(), 'a.png', { type: 'image/png' })]) {
      const edited = await client.images.edit({ model, prompt: 'At night', image, size: '1024x1024' });
      expect(await sizesIn(edited.data)).to.deep.equal([[1024, 1024]]);
    }
    const refused = await rejectionOf(
      client.images.generate({ model, prompt: '[sim:reject=content_policy_violation]' }),
    );
    expect(refused).to.be.instanceOf(APIError).with.property('code', 'moderation_blocked');
    const unknown = await rejectionOf(client.images.generate({ model, prompt: 'x', response_format: 'b64_json' }));
    expect(unknown).to.be.instanceOf(APIError).with.property('param', 'response_format');
  });

  it('are returned in the answer, in the requested size, with their cost', async () => {
    const accepted = await filesIn(upstream, imageRequest({ prompt: 'Two [sim:files=2]', width: 1536, height: 864 }));
    expect(await sizesOf(accepted.files)).to.deep.equal([
      [1536, 864],
      [1536, 864],
    ]);
    expect(accepted.cost).to.deep.equal({ amount: '1056', unit: 'output_tokens' });
  });

  it('are edited from files, which are sent along', async () => {
    const accepted = await filesIn(upstream, edit(LINKS));
    expect(await sizesOf(accepted.files)).to.deep.equal([[1024, 640]]);
    const { path, body } = upstream.prepare(edit(LINKS));
    if (!body || !('form' in body)) throw new Error('the body is no form');
    expect(path).to.equal('v1/images/edits');
    expect(body.form.filter((part) => 'bytes' in part).map(({ name }) => name)).to.deep.equal(['image[]', 'image[]']);
  });

  it('are requested with the route’s fields that the call has', () => {
    const params = { quality: 'high', moderation: 'low', input_fidelity: 'high', output_format: 'webp' };
    const { body } = upstream.prepare(imageRequest({ params, background: 'transparent' }));
    expect(body).to.have.nested.property('json.moderation', 'low');
    expect(body).to.have.nested.property('json.quality', 'high');
    expect(body).to.have.nested.property('json.output_format', 'png');
    expect(body).to.not.have.nested.property('json.input_fidelity');
    const edited = upstream.prepare(edit(LINKS, { params })).body;
    if (!edited || !('form' in edited)) throw new Error('the body is no form');
    const texts = Object.fromEntries(edited.form.flatMap((part) => ('value' in part ? [[part.name, part.value]] : [])));
    expect(texts).to.include({ quality: 'high', input_fidelity: 'high', output_format: 'webp', n: '1' });
    expect(texts).to.not.have.property('moderation');
  });

  for (const [directive, outcome] of [
    ['reject=content_policy_violation', { code: 'content_policy_violation' }],
    ['fail=content_policy_violation', { code: 'content_policy_violation' }],
    ['reject=bad_request', { code: 'bad_request' }],
    ['broke', { isRouteExcluded: true }],
    ['limited=1', { isRouteExcluded: false, retryAfterMs: 1_000 }],
    ['fail=processing_failed', { name: 'OutcomeUnknownError' }],
    ['unreadable_submit', { name: 'OutcomeUnknownError' }],
  ] as const) {
    it(`end with the outcome of the answer: ${directive}`, async () => {
      for (const request of [imageRequest(), edit(LINKS)]) {
        const prompt = `${request.images ? 'An edit' : 'An image'} [sim:${directive}]`;
        expect(await rejectionOf(filesIn(upstream, { ...request, prompt }))).to.include(outcome);
      }
    });
  }

  it('are not the client’s fault when the operator’s limit or key is, whatever the status', async () => {
    for (const [status, code] of [
      [400, 'billing_hard_limit_reached'],
      [400, 'model_not_found'],
      [401, 'invalid_api_key'],
      [403, null],
    ] as const) {
      const error = await rejectionOf(answeredWith(status, { error: { code, type: 'invalid_request_error' } }));
      expect(error).to.be.instanceOf(NotTakenError).with.property('isRouteExcluded', true);
    }
  });

  for (const [error, outcome] of [
    [{ code: 'moderation_blocked', type: 'invalid_request_error' }, { code: 'content_policy_violation' }],
    [{ code: null, type: 'insufficient_quota' }, { isRouteExcluded: true }],
    [
      { code: 'rate_limit_exceeded', message: 'Please try again in 2s.' },
      { isRouteExcluded: false, retryAfterMs: 2_000 },
    ],
    [{ code: 'invalid_value', type: 'invalid_request_error' }, { name: 'OutcomeUnknownError' }],
    [{ code: 'server_error' }, { name: 'OutcomeUnknownError' }],
    [{ message: 'Your request was rejected by the safety system.' }, { name: 'OutcomeUnknownError' }],
    [{ code: 429 }, { name: 'OutcomeUnknownError' }],
    ['moderation_blocked', { name: 'OutcomeUnknownError' }],
  ] as const) {
    it(`are refused with 200 only by a clear code or type: ${JSON.stringify(error)}`, async () => {
      expect(await rejectionOf(answeredWith(200, { error }))).to.include(outcome);
    });
  }

  it('are rendered if the answer has images beside an error', async () => {
    const data = [{ url: 'https://files.example.com/1.png' }];
    expect((await answeredWith(200, { data, error: { code: 'moderation_blocked' } })).files).to.have.length(1);
  });

  it('may have been rendered when a proxy answers with an error', async () => {
    for (const status of [500, 502, 504, 520]) {
      expect(await rejectionOf(answeredWith(status, { error: { message: 'x' } }))).to.be.instanceOf(
        OutcomeUnknownError,
      );
    }
  });

  it('may be returned as links by other gateways', async () => {
    const { files } = await answeredWith(200, { data: [{ url: 'https://files.example.com/1.png' }] });
    expect(files).to.deep.equal([{ url: 'https://files.example.com/1.png', mimeType: null }]);
  });

  it('may be returned as data URLs by other gateways', async () => {
    const url = `data:image/png;base64,${pngFile().toString('base64')}`;
    const { files } = await answeredWith(200, { data: [{ b64_json: url }, { url }] });
    expect(files).to.deep.equal([
      { bytes: pngFile(), mimeType: null },
      { url, mimeType: null },
    ]);
  });

  function answeredWith(status: number, body: object) {
    return usingVendor(openaiImages, body, (other) => filesIn(other, imageRequest()), { status });
  }
});

function pngInput(index: number) {
  return { bytes: pngFile(), mimeType: 'image/png', name: `images-${index}.png` };
}

/** The sizes of pictures as the client of OpenAI returns them. */
function sizesIn(data: readonly OpenAI.Image[] = []) {
  return Promise.all(data.map(({ b64_json: base64 = '' }) => sizeOf(Buffer.from(base64, 'base64'))));
}
