import type { TestStack } from '../../support/stack.ts';
import { describeTasksAt } from './tasks-at-a-vendor.ts';

export const describeBfl = (stack: TestStack): void =>
  describeTasksAt('Black Forest Labs', stack, {
    provider: 'bfl',
    model: 'flux-3-video',
    vendorModel: 'flux-3-video',
    order: { duration: 10, aspect_ratio: '9:16', resolution: '1080p' },
    sent: () => ({ mode: 't2v', duration: 10, resolution: 'fhd', aspect_ratio: '9:16' }),
    evidence: null,
    outcomeTold: /^Attempt 1: it is unknown whether bfl /,
  });
