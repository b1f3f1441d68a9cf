import { expect } from 'chai';
import { createBatchSchema } from '../../../services/input/batches.ts';

describe('the body of a new batch', () => {
  it('may have the expiry of its files as OpenAI’s SDKs send it, without effect', () => {
    // contract 4.17:71
    const body = { input_file_id: 'file_1', endpoint: '/v1/responses', completion_window: '24h' };
    const expiry = { anchor: 'created_at', seconds: 3_600 };
    for (const output_expires_after of [expiry, null]) {
      expect(createBatchSchema.validate({ ...body, output_expires_after }).error).to.equal(undefined);
    }
    expect(createBatchSchema.validate({ ...body, output_expires_after: 1 }).error).not.to.equal(undefined);
  });
});
