import { expect } from 'chai';
import { wantedFiles } from '../../../activities/media-task/store-files.ts';

describe('the fetched files of a result', () => {
  const fileOf = (mimeType: string | null) => ({ url: 'https://example.com/file', mimeType });
  const [still, video, sound, unnamed] = ['image/png', 'video/mp4', 'audio/wav', null].map(fileOf);
  const files = [still, sound, video, unnamed].filter((file) => file !== undefined);

  it('are the first video of a video task, or the first file if the upstream names no video', () => {
    expect(wantedFiles({ kind: 'video' }, files)).to.deep.equal([video]);
    expect(wantedFiles({ kind: 'video' }, [fileOf(null), fileOf(null)])).to.deep.equal([unnamed]);
  });

  it('are all files of an image task but videos and sounds', () => {
    expect(wantedFiles({ kind: 'image' }, files)).to.deep.equal([still, unnamed]);
  });
});
