import type { TestStack } from '../../support/stack.ts';
import { describeTasksAt } from './tasks-at-a-vendor.ts';

export const describeVertex = (stack: TestStack): void =>
  describeTasksAt('Vertex AI', stack, {
    provider: 'vertex',
    model: 'veo-3.1-vertex',
    vendorModel: 'veo-3.1-generate-001',
    order: { duration: 8, aspect_ratio: '9:16', resolution: '1080p' },
    sent: () => ({ fields: 'prompt', durationSeconds: 8, aspectRatio: '9:16', resolution: '1080p', sampleCount: 1 }),
    evidence: null,
    outcomeTold: /^Attempt 1: it is unknown whether vertex /,
  });
