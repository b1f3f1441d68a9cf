import { expect } from 'chai';
import type { RenderRequest } from '../../../../providers/media/adapter.ts';
import { vertex } from '../../../../providers/media/adapters/vertex.ts';
import { createMediaUpstream } from '../../../../providers/media/upstream.ts';
import { checkUpstreams } from '../../../../providers/upstreams.ts';
import { parseOperatorFile } from '../../../../catalogue/operator-file.ts';
import { startVertexMedia } from '../../../../lab/stack/clouds/vertex-media.ts';
import { rejectionOf } from '../../../support/rejection.ts';
import { useStarted } from '../../../support/started.ts';
import { pngFile } from '../../../support/media-files.ts';
import { filesIn, imageRequest, LINKS, sizesOf, submit, testUpstream, videoRequest } from '../../../support/media.ts';
import { itFollowsTheRules, renderVideo, useSimulatedVendor } from '../../../support/simulated-vendor.ts';

describe('Vertex AI', () => {
  const { upstream, vendor } = useSimulatedVendor('vertex', { apiKey: 'vertex-token' }, (settings) =>
    testUpstream({ adapter: vertex, ...settings, addresses: { storage: settings.baseUrl } }),
  );

  const video = (overrides: Partial<RenderRequest> = {}): RenderRequest =>
    withFiles(videoRequest({ model: 'veo-3.1-generate-001', durationSeconds: 8, ...overrides }));
  const image = (overrides: Partial<RenderRequest> = {}): RenderRequest =>
    imageRequest({ model: 'imagen-4.0-generate-001', width: 1024, height: 1024, ...overrides });

  for (const [what, inputs, fields] of [
    ['a first frame', { images: LINKS.slice(0, 1) }, ['prompt', 'image']],
    [
      'a first and a last frame',
      { images: LINKS.slice(0, 2), imagesAs: 'first_and_last_frame' },
      ['prompt', 'image', 'lastFrame'],
    ],
    ['references', { images: LINKS, imagesAs: 'references' }, ['prompt', 'referenceImages']],
  ] as const) {
    it(`receives a request for a video from ${what}`, async () => {
      const request = video(inputs);
      expect(upstream.prepare(request).body)
        .to.have.nested.property('json.instances[0]')
        .that.has.all.keys(...fields);
      await submit(upstream, request);
    });
  }

  it('returns an image in the nearest of its sizes', async () => {
    const accepted = await filesIn(upstream, image({ width: 2560, height: 1440 }));
    expect(await sizesOf(accepted.files)).to.deep.equal([[2816, 1536]]);
  });

  itFollowsTheRules(upstream, video, {
    // The file is in Cloud Storage, which takes the same token.
    rendered: ['1080p', { codedSize: [1080, 1920], durationSeconds: 8 }],
    refused: [
      video({ images: LINKS.slice(0, 2) }),
      video({ referenceVideos: ['https://example.com/1.mp4'] }),
      video({ referenceAudios: ['https://example.com/1.mp3'] }),
      image({ images: LINKS.slice(0, 1) }),
      image({ background: 'transparent' }),
      image({ width: 3840, height: 2160 }),
    ],
    missingJob: 'projects/p/locations/l/publishers/google/models/veo-3.1-generate-001/operations/nowhere',
    sendImage: (other, overrides) => filesIn(other, image(overrides)),
    other: () => ({ adapter: vertex, baseUrl: vendor.baseUrl }),
  });

  describe('with tokens of a service account', () => {
    const cloud = useStarted(() => startVertexMedia(() => ({ url: vendor.baseUrl, key: 'vertex-token' })));

    it('renders a video and reads its file in Cloud Storage, with a token in each request', async () => {
      const file = parseOperatorFile(JSON.stringify({ media: [cloud.upstream] }), 'file', () => undefined);
      const [settings] = checkUpstreams(file).value?.media ?? [];
      if (settings === undefined) throw new Error('the upstream is wrong');
      const other = createMediaUpstream(settings);
      expect((await renderVideo(other, video({ resolution: '1080p' }))).codedSize).to.deep.equal([1920, 1080]);
      await rejectionOf(submit(other, video({ prompt: '[sim:drop_submit]' })));
      await other.close();
      expect(cloud.refused).to.deep.equal([]);
      expect(cloud.issued.google).to.equal(1);
      for (const part of [':predictLongRunning', ':fetchPredictOperation', '/storage/v1/b/']) {
        expect(
          cloud.served.filter((path) => path.includes(part)),
          part,
        ).not.to.deep.equal([]);
      }
    });
  });
});

/** The request with its images, as if they had been fetched. */
function withFiles(request: RenderRequest): RenderRequest {
  const file = { bytes: pngFile(), mimeType: 'image/png', name: 'a.png' };
  return { ...request, files: new Map((request.images ?? []).map((link) => [link, file])) };
}
