/** Rules for images in the answer: there is no job to request, so a lost answer is a lost image. */
import { expect } from 'chai';
import { uploadImage } from '../../support/uploads.ts';
import { attemptsOf, rendersOf, type VendorTask } from '../../support/vendors.ts';
import type { VendorTools } from './tasks-at-a-vendor.ts';

export interface ImageFacts {
  /** The upstream's name. */
  readonly provider: string;
  readonly model: string;
  /** An image with settings of its own, and the fields of them that the vendor receives. */
  readonly order: object;
  readonly sent: object;
  /** The fields that an image made from another adds to the vendor's request; absent where links are sent. */
  readonly sentWithImage?: object;
}

export function describeImagesAt(
  { provider, model, order, sent, sentWithImage }: ImageFacts,
  { stack, apiKey, itEnds, expectBooks }: VendorTools,
): void {
  describe('a task for an image, which the vendor returns in the answer', () => {
    const settings = { kind: 'image', model } as const;
    const itEndsAsImage = (title: string, directives: string, check: (task: VendorTask) => Promise<void>): void =>
      itEnds(title, { directives, body: settings }, check);
    const lost = [`${provider}: unknown, from nothing`];

    itEnds('renders from text, stores and charges its result', { body: { ...settings, ...order } }, async (task) => {
      // contract 4.3:14
      expect(task.status).to.equal('succeeded');
      expect((await rendersOf(stack, task))[0]?.sent).to.deep.include(sent);
      const [file] = task.output?.media ?? [];
      expect((await fetch(file?.url ?? '')).status).to.equal(200);
      await expectBooks(task, 'settlement', 1);
      expect(await attemptsOf(stack, task)).to.deep.equal([`${provider}: accepted, from the answer`]);
    });

    if (sentWithImage) {
      const body = async () => ({ ...settings, images: [(await uploadImage(stack, apiKey())).url] });
      itEnds('renders from an image, which the vendor gets', { body }, async (task) => {
        // contract 4.3:14
        expect(task.status).to.equal('succeeded');
        expect((await rendersOf(stack, task))[0]?.sent).to.deep.include(sentWithImage);
        await expectBooks(task, 'settlement', 1);
      });
    }

    for (const [directives, code, renders] of [
      ['reject=content_policy_violation', 'content_policy_violation', 0],
      ['reject=bad_request', 'bad_request', 0],
      ['broke', 'processing_unavailable', 0],
      ['fail=content_policy_violation', 'content_policy_violation', 1],
      ['result=wrong_type', 'result_transfer_failed', 1],
      ['result=truncated', 'result_transfer_failed', 1],
    ] as const) {
      itEndsAsImage(`ends in a refund with ${code}: ${directives}`, directives, async (task) => {
        expect(task).to.include({ status: 'failed', error_code: code });
        await expectBooks(task, 'refund', renders);
      });
    }

    itEndsAsImage('waits as long as the vendor requests, and submits again', 'limited=1', async (task) => {
      expect(task.status).to.equal('succeeded');
      await expectBooks(task, 'settlement', 1);
    });

    for (const directives of ['drop_submit', 'submit_error', 'unreadable_submit']) {
      const title = `ends in a refund when the answer is lost, and never submits again: ${directives}`;
      itEndsAsImage(title, directives, async (task) => {
        expect(task).to.include({ status: 'failed', error_code: 'processing_unavailable' });
        await expectBooks(task, 'refund', 1);
        expect(await attemptsOf(stack, task)).to.deep.equal(lost);
      });
    }
  });
}
