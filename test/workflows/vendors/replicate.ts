import { expect } from 'chai';
import { rendersOf } from '../../support/vendors.ts';
import type { TestStack } from '../../support/stack.ts';
import { describeLateListAt, describeTasksAt } from './tasks-at-a-vendor.ts';

export const describeReplicate = (stack: TestStack): void =>
  describeTasksAt(
    'Replicate',
    stack,
    {
      provider: 'replicate',
      model: 'veo-3.1-fast',
      vendorModel: 'google/veo-3.1-fast',
      order: { duration: 6, aspect_ratio: '9:16', resolution: '1080p' },
      sent: () => ({ duration: 6, resolution: '1080p', aspect_ratio: '9:16', generate_audio: false }),
      evidence: 'a look-up of what was sent',
      outcomeTold:
        /^Attempt 1: \S+ accepted the job, known from (a look-up of what was sent|the callback); job [\w-]+; the upstream charged [\d.]+ \w+; cost \$0\.40$/,
    },
    (tools) => {
      const { stack, itEnds, expectBooks } = tools;
      itEnds('renders, stores and charges an image', { body: { kind: 'image', model: 'flux-2-pro' } }, async (task) => {
        expect(task.status).to.equal('succeeded');
        expect((await rendersOf(stack, task))[0]?.sent).to.include({
          width: 1024,
          height: 1024,
          aspect_ratio: 'custom',
        });
        await expectBooks(task, 'settlement', 1);
      });

      describeLateListAt('replicate', tools);
    },
  );
