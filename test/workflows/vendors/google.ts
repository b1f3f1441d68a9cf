import type { TestStack } from '../../support/stack.ts';
import { describeImagesAt } from './images-at-a-vendor.ts';
import { describeTasksAt } from './tasks-at-a-vendor.ts';

export const describeGoogle = (stack: TestStack): void =>
  describeTasksAt(
    'Google',
    stack,
    {
      provider: 'google',
      model: 'gemini-omni-1.1-flash',
      vendorModel: 'gemini-omni-1.1-flash',
      order: { duration: 8, aspect_ratio: '9:16', resolution: '1080p' },
      sent: () => ({ task: 'text_to_video', duration: '8s', aspect_ratio: '9:16', resolution: '1080p', inputs: 0 }),
      evidence: 'the callback',
      outcomeTold:
        /^Attempt 1: \S+ accepted the job, known from the callback; job v1_[\w-]+; the upstream charged 46336 output_tokens; cost \$0\.80$/,
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
