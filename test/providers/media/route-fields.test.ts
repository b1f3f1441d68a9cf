import { expect } from 'chai';
import { MEDIA_PROTOCOLS } from '../../../providers/media/protocols.ts';
import { testUpstream, videoRequest } from '../../support/media.ts';

const LINK = 'https://example.com/1.png';

/** The cases of docs/catalogue.md: a route at a vendor, and the fields and headers that its upstream gets. */
const CASES = [
  ['openai-videos', { drop: ['size'] }, { names: ['model', 'prompt', 'seconds'] }],
  ['openai-videos', { rename: { seconds: 'duration' } }, { names: ['model', 'prompt', 'duration', 'size'] }],
  ['openai-videos', { set: { user: 'genway' } }, { names: ['model', 'prompt', 'seconds', 'size', 'user'] }],
  ['ark', { drop: ['safety_identifier'] }, { without: 'safety_identifier' }],
  ['ark', { set: { service_tier: 'flex' } }, { json: { service_tier: 'flex' } }],
  ['google', { drop: ['response_format.delivery'] }, { without: 'response_format.delivery' }],
  ['google', { set: { 'generation_config.seed': 7 } }, { json: { generation_config: { seed: 7 } } }],
  [
    'dashscope',
    { headers: { 'X-DashScope-DataInspection': '{"input":"disable"}' } },
    { headers: 'x-dashscope-datainspection' },
  ],
  [
    'dashscope',
    { rename: { 'parameters.ratio': 'parameters.aspect_ratio' } },
    { json: { parameters: { aspect_ratio: '16:9' } } },
  ],
  ['kling', { drop: ['callback_url'] }, { without: 'callback_url' }],
] as const;

describe('the fields of a media route', () => {
  for (const [protocol, changes, expected] of CASES) {
    it(`change the request to ${protocol}: ${JSON.stringify(changes)}`, async () => {
      const upstream = testUpstream({ adapter: MEDIA_PROTOCOLS[protocol], baseUrl: 'http://127.0.0.1:9' });
      const request = videoRequest({ durationSeconds: 5, callbackUrl: LINK, changes });
      const { body, headers } = upstream.prepare(request);
      if ('names' in expected) {
        expect(body).to.have.property('form');
        const names = body && 'form' in body ? body.form.map(({ name }) => name) : [];
        expect(names).to.have.members(expected.names);
      }
      if ('json' in expected) expect(body).to.containSubset({ json: expected.json });
      if ('without' in expected) expect(body).to.not.have.nested.property(`json.${expected.without}`);
      if ('headers' in expected) expect(headers).to.have.property(expected.headers);
      await upstream.close();
    });
  }

  it('also change what identifies the submission in the list of the vendor', async () => {
    const upstream = testUpstream({ adapter: MEDIA_PROTOCOLS['openai-videos'], baseUrl: 'http://127.0.0.1:9' });
    const { identity } = upstream.prepare(videoRequest({ changes: { set: { size: '1280x768' } } }));
    expect(identity).to.include({ size: '1280x768' });
    await upstream.close();
  });
});
