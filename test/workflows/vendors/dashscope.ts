import type { TestStack } from '../../support/stack.ts';
import { describeTasksAt } from './tasks-at-a-vendor.ts';

export const describeDashscope = (stack: TestStack): void =>
  describeTasksAt('Alibaba Model Studio', stack, {
    provider: 'dashscope',
    model: 'happyhorse-1.1',
    vendorModel: 'happyhorse-1.1-t2v',
    order: { duration: 10, aspect_ratio: '9:16', resolution: '1080p' },
    sent: () => ({ model: 'happyhorse-1.1-t2v', duration: 10, resolution: '1080P', ratio: '9:16' }),
    evidence: 'exclusion',
    outcomeTold:
      /^Attempt 1: \S+ accepted the job, known from exclusion; job [\w-]+; the upstream charged 5 seconds; cost \$0\.70$/,
  });
