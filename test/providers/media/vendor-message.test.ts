import { expect } from 'chai';
import { TASK_ERROR_CODES } from '../../../domain/errors.ts';
import { detailFor, messageFor, vendorMessageOf } from '../../../providers/media/vendor-message.ts';

const REMEDY = /(?:Check|Change|Try again|Send) /;

describe('the message of a failed task', () => {
  for (const code of TASK_ERROR_CODES) {
    it(`says what to change for ${code}, whatever the upstream's words`, () => {
      // contract 2.1:22
      for (const words of [undefined, '', 'No.', 'rejected', 'x'.repeat(600), '\u0000 secret', 7, {}]) {
        const message = messageFor(code, words);
        expect(message).to.match(REMEDY);
        expect(message.length).to.be.at.most(500);
      }
    });
  }

  it('begins with the words of the upstream where the client can correct the cause', () => {
    expect(messageFor('bad_request', 'The image is too small')).to.match(/^The image is too small\. Check the prompt/);
    expect(messageFor('content_policy_violation', '内容违规。')).to.equal(
      '内容违规。 Change the prompt or the inputs.',
    );
    expect(messageFor('processing_failed', 'The card is broken')).to.not.include('card');
  });

  for (const code of TASK_ERROR_CODES) {
    it(`leaves operators the words of the upstream about ${code}, and none if there were none`, () => {
      for (const words of ['Moderation found a sword.', undefined]) {
        const message = messageFor(code, words);
        const detail = detailFor(words, message);
        expect(vendorMessageOf({ code, message, detail })).to.equal(words ?? null);
      }
    });
  }
});
