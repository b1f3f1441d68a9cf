import { generateKeyPairSync, sign } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ApiError, GoogleGenAI } from '@google/genai';
import { expect } from 'chai';
import type { RenderRequest } from '../../../../providers/media/adapter.ts';
import { google } from '../../../../providers/media/adapters/google.ts';
import { addressMac, InvalidCallbackError } from '../../../../providers/media/callbacks.ts';
import { JobRefusedError } from '../../../../providers/media/outcomes.ts';
import { pngFile } from '../../../support/media-files.ts';
import {
  filesIn,
  imageRequest,
  sizeOf,
  sizesOf,
  submit,
  testUpstream,
  usingVendor,
  videoRequest,
  LINKS,
} from '../../../support/media.ts';
import { readMp4 } from '../../../support/mp4.ts';
import { rejectionOf } from '../../../support/rejection.ts';
import { announcementFrom, itFollowsTheRules, useSimulatedVendor } from '../../../support/simulated-vendor.ts';

const SECRET = 'the-secret-of-the-operator';
const OMNI = 'gemini-omni-1.1-flash';
const GEMINI = 'gemini-3-pro-image';

describe('Google', () => {
  const { upstream, vendor } = useSimulatedVendor('google', { apiKey: 'google-key' }, () =>
    testUpstream({ ...settings(), callbackSecret: SECRET }),
  );

  const settings = () => ({
    adapter: google,
    baseUrl: `${vendor.baseUrl}/v1beta`,
    keysUrl: `${vendor.baseUrl}/jwks.json`,
    credential: { apiKey: 'google-key' },
    resultOrigins: [new URL(vendor.baseUrl.replace('127.0.0.1', 'localhost')).origin],
  });

  const video = (overrides: Partial<RenderRequest> = {}): RenderRequest =>
    withFiles(videoRequest({ model: OMNI, durationSeconds: 8, ...overrides }));
  const image = (overrides: Partial<RenderRequest> = {}): RenderRequest =>
    withFiles(imageRequest({ model: GEMINI, width: 1024, height: 1024, ...overrides }));

  it('the simulator behaves as Google’s own client expects', async () => {
    const client = new GoogleGenAI({ apiKey: 'google-key', httpOptions: { baseUrl: vendor.baseUrl } });
    const inline = { imageBytes: pngFile().toString('base64'), mimeType: 'image/png' };
    const created = await client.interactions.create({
      model: OMNI,
      input: [
        { type: 'image', data: inline.imageBytes, mime_type: 'image/png' },
        { type: 'text', text: 'A lighthouse' },
      ],
      response_format: { type: 'video', aspect_ratio: '9:16', duration: '8s', delivery: 'uri' },
      background: true,
    });
    const { status, output_video: generated } = await client.interactions.get(created.id);
    expect(status).to.equal('completed');
    // The client recognises only https links, which the simulator does not serve.
    const [file] = /files\/[\w-]+/.exec(generated?.uri ?? '') ?? [];
    if (file === undefined) throw new Error('there is no video');
    const folder = await mkdtemp(join(tmpdir(), 'genway-google-'));
    const downloadPath = join(folder, 'video.mp4');
    await client.files.download({ file, downloadPath });
    expect(readMp4(await readFile(downloadPath)).codedSize).to.deep.equal([720, 1280]);
    await rm(folder, { recursive: true });

    const answer = await client.models.generateContent({
      model: GEMINI,
      contents: [{ text: 'At night' }, { inlineData: { data: inline.imageBytes, mimeType: 'image/png' } }],
      config: { responseModalities: ['IMAGE'], imageConfig: { aspectRatio: '16:9' } },
    });
    expect(await sizeOf(Buffer.from(answer.data ?? '', 'base64'))).to.deep.equal([1344, 768]);
    const refused = await rejectionOf(client.models.generateContent({ model: GEMINI, contents: '[sim:broke]' }));
    expect(refused).to.be.instanceOf(ApiError).with.property('status', 400);
  });

  for (const [what, inputs, task, types] of [
    ['text', {}, 'text_to_video', ['text']],
    ['a first frame', { images: LINKS.slice(0, 1) }, 'image_to_video', ['image', 'text']],
    [
      'a first and a last frame',
      { images: LINKS.slice(0, 2), imagesAs: 'first_and_last_frame' },
      undefined,
      ['image', 'image', 'text'],
    ],
    [
      'references of two kinds',
      { images: LINKS.slice(0, 1), imagesAs: 'references', referenceVideos: ['https://example.com/1.mp4'] },
      'reference_to_video',
      ['image', 'video', 'text'],
    ],
  ] as const) {
    it(`receives a request for a video from ${what}`, async () => {
      const request = video(inputs);
      const { body } = upstream.prepare(request);
      const { input, generation_config: config } = JSON.parse(JSON.stringify(body)).json;
      expect(input.map(({ type }: { type: string }) => type)).to.deep.equal(types);
      expect(config?.video_config.task).to.equal(task);
      await submit(upstream, request);
    });
  }

  it('returns an image with its file, in the nearest of its sizes, with its cost', async () => {
    const request = image({ images: LINKS.slice(0, 2), prompt: 'Two [sim:files=2]', width: 1280, height: 720 });
    const accepted = await filesIn(upstream, request);
    expect(await sizesOf(accepted.files)).to.deep.equal([
      [1344, 768],
      [1344, 768],
    ]);
    expect(accepted.cost).to.deep.equal({ amount: '1120', unit: 'output_tokens' });
    const larger = await filesIn(upstream, image({ width: 2048, height: 2048 }));
    expect(await sizesOf(larger.files)).to.deep.equal([[2048, 2048]]);
  });

  it('announces the end with a token of its published keys, and names the interaction', async () => {
    const { headers, rawBody, jobId, query } = await announcement();
    const read = (changes: object) => upstream.readCallback({ headers, rawBody, ...changes }, 'task_1', query);
    expect(await read({})).to.deep.equal({ jobId });
    const token = headers['webhook-signature'] ?? '';
    expect(await read({ headers: { ...headers, 'webhook-signature': `v1a,${token}` } })).to.deep.equal({ jobId });
    const wrong: readonly Record<string, string>[] = [
      {},
      { ...headers, 'webhook-timestamp': '1' },
      ...['', 'x.y.z', `${token}x.y`, `${partOf({ alg: 'none' })}.${partOf({})}.`, signedByAnother(token)].map(
        (signature) => ({ ...headers, 'webhook-signature': signature }),
      ),
    ];
    for (const changed of wrong) {
      expect(await rejectionOf(read({ headers: changed }))).to.be.instanceOf(InvalidCallbackError);
    }
    const elsewhere = upstream.readCallback({ headers, rawBody }, 'task_2', query);
    expect(await rejectionOf(elsewhere)).to.be.instanceOf(InvalidCallbackError);
  });

  it('rejects an announcement whose token has expired', async () => {
    const { headers, rawBody, query } = await announcement();
    const nowMs = Date.now() + 2 * 3_600_000;
    const later = testUpstream({ ...settings(), callbackSecret: SECRET }, { nowMs: () => nowMs });
    const recent = { ...headers, 'webhook-timestamp': String(Math.floor(nowMs / 1000)) };
    const error = await rejectionOf(later.readCallback({ headers: recent, rawBody }, 'task_1', query));
    expect(error).to.be.instanceOf(InvalidCallbackError).with.property('message').that.includes('expired');
    await later.close();
  });

  /** The announcement of a video of `task_1`. */
  async function announcement() {
    const announced = await announcementFrom(upstream, (callbackUrl) => video({ callbackUrl }));
    return { ...announced, query: new URLSearchParams({ mac: addressMac(SECRET, 'task_1') }) };
  }

  const imageFrom = (answer: object) => usingVendor(google, answer, (other) => filesIn(other, image()));

  for (const [answer, code] of [
    [{ promptFeedback: { blockReason: 'PROHIBITED_CONTENT' } }, 'content_policy_violation'],
    [{ candidates: [{ finishReason: 'IMAGE_SAFETY' }] }, 'content_policy_violation'],
    [{ candidates: [{ finishReason: 'NO_IMAGE', content: { parts: [{ text: 'No.' }] } }] }, 'processing_failed'],
  ] as const) {
    it(`fails an image that was never made as ${code}: ${JSON.stringify(answer)}`, async () => {
      expect(await rejectionOf(imageFrom(answer)))
        .to.be.instanceOf(JobRefusedError)
        .with.property('code', code);
    });
  }

  it('has the charge recorded for an image that it made and withholds', async () => {
    const candidates = [{ finishReason: 'IMAGE_SAFETY' }];
    const refusal = await rejectionOf(imageFrom({ candidates, usageMetadata: { candidatesTokenCount: 1_290 } }));
    expect(refusal).to.have.property('cost').that.deep.equals({ amount: '1290', unit: 'output_tokens' });
  });

  it('has a draft treated as no image', async () => {
    const draft = { thought: true, inlineData: { data: 'aGk=', mimeType: 'image/png' } };
    const answer = { candidates: [{ content: { parts: [draft] } }] };
    expect(await imageFrom(answer)).to.deep.equal({ files: [] });
  });

  itFollowsTheRules(upstream, video, {
    // The file is at another origin.
    rendered: [
      '1080p',
      { codedSize: [1080, 1920], durationSeconds: 8, cost: { amount: '46336', unit: 'output_tokens' } },
    ],
    refused: [
      video({ images: LINKS.slice(0, 2) }),
      video({ images: LINKS, imagesAs: 'first_and_last_frame' }),
      video({ referenceAudios: ['https://example.com/1.mp3'] }),
      image({ background: 'transparent' }),
      image({ width: 3072, height: 1024 }),
    ],
    missingJob: 'v1_nowhere',
    sendImage: (other, overrides) => filesIn(other, image(overrides)),
    other: () => ({ adapter: google, baseUrl: vendor.baseUrl }),
    refusedProbe: 400,
    isStoppable: true,
    keepsEnded: true,
  });
});

const partOf = (part: object): string => Buffer.from(JSON.stringify(part)).toString('base64url');

/** The token, signed with an unpublished key. */
function signedByAnother(token: string): string {
  const signed = token.split('.').slice(0, 2).join('.');
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  return `${signed}.${sign('RSA-SHA256', Buffer.from(signed), privateKey).toString('base64url')}`;
}

/** The request with its images, as if they had been fetched. */
function withFiles(request: RenderRequest): RenderRequest {
  const file = { bytes: pngFile(), mimeType: 'image/png', name: 'a.png' };
  return { ...request, files: new Map(linksOf(request).map((link) => [link, file])) };
}

function linksOf({ images = [], referenceVideos = [] }: RenderRequest): readonly string[] {
  return [...images, ...referenceVideos];
}
