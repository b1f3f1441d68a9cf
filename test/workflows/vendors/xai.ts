import type { TestStack } from '../../support/stack.ts';
import { describeTasksAt } from './tasks-at-a-vendor.ts';

export const describeXai = (stack: TestStack): void =>
  describeTasksAt('xAI', stack, {
    provider: 'xai',
    model: 'grok-imagine-video-1.5',
    vendorModel: 'grok-imagine-video-1.5',
    order: { duration: 10, aspect_ratio: '9:16', resolution: '1080p' },
    sent: () => ({ model: 'grok-imagine-video-1.5', duration: 10, resolution: '1080p', aspect_ratio: '9:16' }),
    evidence: null,
    outcomeTold: /^Attempt 1: it is unknown whether xai /,
  });
