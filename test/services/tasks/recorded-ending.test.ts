import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { historyFromJSON } from '@temporalio/common/lib/proto-utils.js';
import { expect } from 'chai';
import { readRecordedEnding, type RecordedEnding } from '../../../services/tasks/recorded-ending.ts';

const HISTORIES = join(import.meta.dirname, '../../histories');

function endingIn(name: string): RecordedEnding | null {
  return readRecordedEnding(historyFromJSON(JSON.parse(readFileSync(join(HISTORIES, `${name}.json`), 'utf8'))));
}

describe('the outcome that a history records', () => {
  it('contains the files, the settlement and the deliveries of a succeeded task', () => {
    const recorded = endingIn('task-with-webhooks');
    expect(recorded?.ending.status).to.equal('succeeded');
    expect(recorded).to.have.nested.property('ending.output[0].mimeType', 'video/mp4');
    expect(recorded?.resolutionId).to.match(/^tr_\w{32}$/);
    expect(recorded?.deliveryIds).to.have.length(1);
  });

  it('contains the message for the client of a failed task', () => {
    expect(endingIn('task-processing-timeout')?.ending).to.deep.equal({
      status: 'failed',
      failure: {
        code: 'processing_timeout',
        message: 'Processing did not finish in time. Nothing was charged; send the request again.',
      },
    });
  });

  it('does not exist for a workflow that made no task final', () => {
    expect(endingIn('task-final-before-it-began')).to.equal(null);
    expect(endingIn('delivery-delivered')).to.equal(null);
  });
});
