import { expect } from 'chai';
import { JobRefusedError } from '../../../providers/media/outcomes.ts';
import { MEDIA_PROTOCOL_NAMES, MEDIA_PROTOCOLS, type MediaProtocol } from '../../../providers/media/protocols.ts';
import { videoRequest } from '../../support/media.ts';

/** Each protocol's request for a video in the catalogue's resolution; null for one that its vendor does not render. */
const SENT: readonly (readonly [MediaProtocol, resolution: string, sent: object | null])[] = [
  ['http-jobs', '4k', { resolution: '4k' }],
  ['ark', '4k', { resolution: '4k' }],
  ['ark', '2160p', { resolution: '4k' }],
  ['ark', '540p', null],
  ['fal', '4k', { resolution: '4k' }],
  ['google', '4k', { response_format: { resolution: '4k' } }],
  ['google', '360p', { response_format: { resolution: '360p' } }],
  ['google', '480p', null],
  ['kling', '1080p', { mode: 'pro' }],
  ['kling', '4k', { mode: '4k' }],
  ['kling', '480p', null],
  ['minimax', '2k', { resolution: '2K' }],
  ['minimax', '1440p', { resolution: '2K' }],
  ['minimax', '4k', null],
  ['openai-videos', '4k', { size: '3840x2160' }],
  ['replicate', '4k', { input: { resolution: '4k' } }],
  ['xai', '1080p', { resolution: '1080p' }],
  ['xai', '4k', null],
  ['vertex', '2160p', { parameters: { resolution: '4k' } }],
  ['vertex', '480p', null],
  ['dashscope', '1080p', { parameters: { resolution: '1080P' } }],
  ['dashscope', '4k', null],
  ['bfl', '720p', { resolution: 'hd' }],
  ['bfl', '480p', null],
];

describe('the resolution of a video', () => {
  for (const [protocol, resolution, sent] of SENT) {
    it(`${sent ? 'goes' : 'does not go'} to ${protocol} as its own word for ${resolution}`, () => {
      const request = videoRequest({ resolution, model: 'owner/name' });
      const submission = (): unknown => {
        const { body, identity } = MEDIA_PROTOCOLS[protocol].submission(request);
        return identity ?? (body && 'json' in body ? body.json : undefined);
      };
      if (sent) expect(submission()).to.containSubset(sent);
      else expect(submission).to.throw(JobRefusedError, 'The model renders these resolutions: ');
    });
  }

  it('is tested above for every protocol that renders videos', () => {
    const withVideos = MEDIA_PROTOCOL_NAMES.filter((name) => MEDIA_PROTOCOLS[name].kinds.video);
    expect([...new Set(SENT.map(([protocol]) => protocol))]).to.have.members(withVideos);
  });
});
