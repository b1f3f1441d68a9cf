/** The `content` of video requests, which Ark and MiniMax share: text, then frames or references. */
import type { JsonObject } from '../../domain/json.ts';
import type { RenderRequest, SentSubmission } from './adapter.ts';
import { JobRefusedError } from './outcomes.ts';

/** Whether the request has references. With reference videos or audios, the images are references, too. */
export function hasReferences({ imagesAs, images = [], ...others }: RenderRequest): boolean {
  const { referenceVideos = [], referenceAudios = [] } = others;
  return (imagesAs === 'references' && images.length > 0) || referenceVideos.length > 0 || referenceAudios.length > 0;
}

/** @throws JobRefusedError for more frames than there are roles */
export function contentItems(request: RenderRequest): readonly JsonObject[] {
  const { prompt, images = [], imagesAs, referenceVideos = [], referenceAudios = [] } = request;
  const isReferred = hasReferences(request);
  const most = imagesAs === 'first_and_last_frame' ? 2 : 1;
  if (!isReferred && images.length > most) {
    throw new JobRefusedError('bad_request', `The model takes at most ${most} images.`);
  }
  const roleOf = (index: number): string =>
    isReferred ? 'reference_image' : index === 0 ? 'first_frame' : 'last_frame';
  return [
    { type: 'text', text: prompt },
    ...images.map((url, index) => ({ type: 'image_url', image_url: { url }, role: roleOf(index) })),
    ...referenceVideos.map((url) => ({ type: 'video_url', video_url: { url }, role: 'reference_video' })),
    ...referenceAudios.map((url) => ({ type: 'audio_url', audio_url: { url }, role: 'reference_audio' })),
  ];
}

/** Whether a listed task was made since a submission; `created_at` is in seconds. */
export function isCreatedSince(
  { created_at: createdAt }: JsonObject,
  { since }: Pick<SentSubmission, 'since'>,
): boolean {
  return typeof createdAt === 'number' && createdAt * 1000 >= since.getTime();
}
