import type { TestStack } from '../../support/stack.ts';
import { describeTasksAt } from './tasks-at-a-vendor.ts';

export const describeKlingStandard = (stack: TestStack): void =>
  describeTasksAt('Kling’s standard API', stack, {
    provider: 'kling-standard',
    model: 'kling-3.0',
    vendorModel: 'kling-3.0',
    order: { duration: 3, aspect_ratio: '9:16', resolution: '1080p' },
    sent: () => ({ family: 'text-to-video' }),
    evidence: 'a look-up of our id',
    outcomeTold:
      /^Attempt 1: \S+ accepted the job, known from a look-up of our id; job tasks\|[\w-]+; the upstream charged [\d.]+ \w+; cost \$0\.21$/,
  });

export const describeKling = (stack: TestStack): void =>
  describeTasksAt('Kling', stack, {
    provider: 'kling',
    model: 'kling-v2-6',
    vendorModel: 'kling-v2-6',
    order: { duration: 10, aspect_ratio: '9:16', resolution: '1080p' },
    sent: ({ id }) => ({
      path: '/v1/videos/text2video',
      duration: '10',
      mode: 'pro',
      aspect_ratio: '9:16',
      external_task_id: id,
    }),
    evidence: 'a look-up of our id',
    outcomeTold:
      /^Attempt 1: \S+ accepted the job, known from a look-up of our id; job text2video\|[\w-]+; the upstream charged [\d.]+ \w+; cost \$0\.49$/,
  });
