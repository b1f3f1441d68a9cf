import { expect } from 'chai';
import { attemptsOf } from '../../../support/vendors.ts';
import { describeTasksAt, type UsedStack } from './tasks-at-a-vendor.ts';

export const describeFal = (stack: UsedStack): void =>
  describeTasksAt(
    'fal',
    stack,
    {
      provider: 'fal',
      model: 'veo-3.1',
      vendorModel: 'fal-ai/veo3.1',
      order: { duration: 6, aspect_ratio: '9:16', resolution: '1080p' },
      sent: () => ({ duration: '6s', resolution: '1080p', aspect_ratio: '9:16', generate_audio: false }),
      learntFrom: 'a look-up of what was sent',
      outcomeTold:
        /^Attempt 1: accepted, learnt from a look-up of what was sent; job fal-ai\/veo3\.1\|[\w-]+; it cost 0\.8 USD$/,
    },
    ({ stack, final, expectBooks }) => {
      it('is rendered as an image, stored and charged', async () => {
        const task = await final('', { kind: 'image', model: 'flux-2' });
        expect(task.status).to.equal('succeeded');
        await expectBooks(task, 'settlement', 1);
      });

      it('is taken up by the callback when the list is late', async () => {
        const task = await final('drop_submit,unlisted,render_ms=500');
        expect(task.status).to.equal('succeeded');
        expect(await attemptsOf(stack(), task)).to.deep.equal(['fal: accepted, from the callback']);
        await expectBooks(task, 'settlement', 1);
      });

      it('is given up and refunded, and not rendered twice, when neither the list nor a callback reveals it', async () => {
        const task = await final('drop_submit,unlisted,stuck');
        expect(task).to.include({ status: 'failed', error_code: 'processing_unavailable' });
        expect(await attemptsOf(stack(), task)).to.deep.equal(['fal: unknown, from nothing']);
        await expectBooks(task, 'refund', 1);
      });
    },
  );
