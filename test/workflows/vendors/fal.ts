import { expect } from 'chai';
import type { TestStack } from '../../support/stack.ts';
import { describeLateListAt, describeTasksAt } from './tasks-at-a-vendor.ts';

export const describeFal = (stack: TestStack): void =>
  describeTasksAt(
    'fal',
    stack,
    {
      provider: 'fal',
      model: 'veo-3.1',
      vendorModel: 'fal-ai/veo3.1',
      // The last three are fields that only this model has.
      order: {
        duration: 6,
        aspect_ratio: '9:16',
        resolution: '1080p',
        generate_audio: true,
        negative_prompt: 'fog',
        seed: 7,
      },
      sent: () => ({
        duration: '6s',
        resolution: '1080p',
        aspect_ratio: '9:16',
        generate_audio: true,
        negative_prompt: 'fog',
        seed: 7,
      }),
      evidence: 'a look-up of what was sent',
      outcomeTold:
        /^Attempt 1: \S+ accepted the job, known from (a look-up of what was sent|the callback); job fal-ai\/veo3\.1\|[\w-]+; cost \$0\.80$/,
    },
    (tools) => {
      const { itEnds, expectBooks } = tools;
      itEnds('renders, stores and charges an image', { body: { kind: 'image', model: 'flux-2' } }, async (task) => {
        expect(task.status).to.equal('succeeded');
        await expectBooks(task, 'settlement', 1);
      });

      describeLateListAt('fal', tools);
    },
  );
