import type { TestStack } from '../../support/stack.ts';
import { describeImagesAt } from './images-at-a-vendor.ts';
import { describeTasksAt } from './tasks-at-a-vendor.ts';

export const describeGoogle = (stack: TestStack): void =>
  describeTasksAt(
    'Google',
    stack,
    {
      provider: 'google',
      model: 'veo-3.1-preview',
      vendorModel: 'veo-3.1-generate-preview',
      order: { duration: 8, aspect_ratio: '9:16', resolution: '1080p' },
      sent: () => ({ durationSeconds: 8, aspectRatio: '9:16', resolution: '1080p', sampleCount: 1 }),
      evidence: 'the callback',
      outcomeTold:
        /^Attempt 1: \S+ accepted the job, known from the callback; job models\/[\w.-]+\/operations\/[\w-]+; cost \$3\.20$/,
    },
    (tools) =>
      describeImagesAt(
        {
          provider: 'google',
          model: 'gemini-3-pro-image',
          order: { aspect_ratio: '16:9', resolution: '2K' },
          sent: { model: 'gemini-3-pro-image', aspectRatio: '16:9', imageSize: '2K' },
          sentWithImage: { images: 1, aspectRatio: '1:1' },
        },
        tools,
      ),
  );
