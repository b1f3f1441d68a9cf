import type { TestStack } from '../../support/stack.ts';
import { describeImagesAt } from './images-at-a-vendor.ts';
import { describeTasksAt } from './tasks-at-a-vendor.ts';

export const describeArk = (stack: TestStack): void =>
  describeTasksAt(
    'Ark',
    stack,
    {
      provider: 'ark',
      model: 'seedance-2.0',
      vendorModel: 'dreamina-seedance-2-0-260128',
      order: { duration: 10, aspect_ratio: '9:16', resolution: '1080p' },
      sent: () => ({
        model: 'dreamina-seedance-2-0-260128',
        duration: 10,
        resolution: '1080p',
        ratio: '9:16',
        generate_audio: false,
        watermark: false,
      }),
      evidence: 'exclusion',
      outcomeTold:
        /^Attempt 1: \S+ accepted the job, known from exclusion; job cgt-[\w-]+; the upstream charged \d+ tokens; cost \$0\.2177434$/,
    },
    (tools) => {
      describeImagesAt(
        {
          provider: 'ark',
          model: 'seedream-4.5',
          order: { aspect_ratio: '4:3' },
          sent: { size: '2304x1728', watermark: false },
        },
        tools,
      );
    },
  );
