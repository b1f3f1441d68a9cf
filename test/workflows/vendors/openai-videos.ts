import { expect } from 'chai';
import { uploadImage } from '../../support/uploads.ts';
import { attemptsOf, rendersOf } from '../../support/vendors.ts';
import type { TestStack } from '../../support/stack.ts';
import { describeTasksAt } from './tasks-at-a-vendor.ts';

export const describeOpenAiVideos = (stack: TestStack): void =>
  describeTasksAt(
    'an upstream that speaks the wire format of OpenAI’s videos',
    stack,
    {
      provider: 'openai-videos',
      model: 'wan-2.7',
      vendorModel: 'wan2.7-t2v',
      order: { duration: 10, aspect_ratio: '9:16', resolution: '1080p' },
      sent: () => ({ model: 'wan2.7-t2v', seconds: '10', size: '1080x1920' }),
      evidence: 'a look-up of what was sent',
      outcomeTold:
        /^Attempt 1: \S+ accepted the job, known from a look-up of what was sent; job video_[\w-]+; cost \$0\.50$/,
    },
    ({ stack, apiKey, itEnds, expectBooks }) => {
      const withImage = { body: async () => ({ images: [(await uploadImage(stack, apiKey())).url] }) };
      itEnds('renders from an image, which the vendor gets with the model for images', withImage, async (task) => {
        expect(task.status).to.equal('succeeded');
        expect((await rendersOf(stack, task))[0]?.sent).to.include({ model: 'wan2.7-i2v', seconds: '5' });
      });

      itEnds(
        'fails as a bad request when Genway cannot fetch an input, before it calls the vendor', // contract 4.2:14
        { body: { images: ['https://127.0.0.1:9/a.png'] } },
        async (task) => {
          expect(task).to.include({ status: 'failed', error_code: 'bad_request' });
          expect(task.error_message).to.contain('images[0]');
          await expectBooks(task, 'refund', 0);
          expect(await attemptsOf(stack, task)).to.deep.equal([]);
        },
      );
    },
  );
