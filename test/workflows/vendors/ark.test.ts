import { expect } from 'chai';
import { transfersOf } from '../../support/tasks.ts';
import { attemptsOf, rendersOf, type VendorTask } from '../../support/vendors.ts';
import { describeTasksAt } from './tasks-at-a-vendor.ts';

describeTasksAt(
  'Ark',
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
    learntFrom: 'exclusion',
    outcomeTold: /^Attempt 1: accepted, learnt from exclusion; job cgt-[\w-]+; it cost 0\.2177434 USD$/,
  },
  ({ stack, final, expectBooks, finalWithWorkerKilled }) => {
    describe('that is an image, which comes in the answer', () => {
      const IMAGE = { kind: 'image', model: 'seedream-4.5' } as const;
      const image = (directives = ''): Promise<VendorTask> => final(directives, IMAGE);

      it('is rendered, stored and charged', async () => {
        const task = await image();
        expect(task.status).to.equal('succeeded');
        expect((await rendersOf(stack(), task))[0]?.sent).to.include({ size: '2048x2048', watermark: false });
        await expectBooks(task, 'settlement', 1);
      });

      it('is refunded when its answer is lost, and never asked for again', async () => {
        const task = await image('drop_submit');
        expect(task).to.include({ status: 'failed', error_code: 'processing_unavailable' });
        await expectBooks(task, 'refund', 1);
        expect(await attemptsOf(stack(), task)).to.deep.equal(['ark: unknown, from nothing']);
      });

      it('is rendered once when its worker is killed while it is rendered', async () => {
        const task = await finalWithWorkerKilled({ ...IMAGE, directives: 'render_ms=3000' });
        expect(task).to.include({ status: 'failed', error_code: 'processing_unavailable' });
        expect(await transfersOf(stack(), task.id)).to.deep.equal(['reservation', 'refund']);
        expect((await rendersOf(stack(), task)).length).to.be.at.most(1);
      });
    });
  },
);
