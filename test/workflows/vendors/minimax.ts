import type { TestStack } from '../../support/stack.ts';
import { describeTasksAt } from './tasks-at-a-vendor.ts';

export const describeMiniMax = (stack: TestStack): void =>
  describeTasksAt('MiniMax', stack, {
    provider: 'minimax',
    model: 'minimax-h3',
    vendorModel: 'MiniMax-H3',
    order: { duration: 10, aspect_ratio: '9:16', resolution: '1440p' },
    sent: () => ({ model: 'MiniMax-H3', duration: 10, resolution: '2K', ratio: '9:16' }),
    evidence: 'exclusion',
    outcomeTold:
      /^Attempt 1: \S+ accepted the job, known from exclusion; job [\w-]+; the upstream charged 5 seconds; cost \$0\.40$/,
  });
