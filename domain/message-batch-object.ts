/** A batch of messages in the form of Anthropic's API: contract 4.17. */
import { type Batch, type BatchCounts, isFinalBatch } from './batch.ts';
import * as field from './resource/field.ts';
import { nested, resource } from './resource/resource.ts';

const COUNTS = nested<BatchCounts>({
  processing: field.integer(
    ({ total, succeeded, failed, expired, cancelled }) => total - succeeded - failed - expired - cancelled,
    'The requests that have no outcome yet',
  ),
  succeeded: field.integer('succeeded'),
  errored: field.integer('failed'),
  canceled: field.integer('cancelled'),
  expired: field.integer('expired'),
});

/** A batch with the address of the api. */
export interface AddressedBatch extends Batch {
  readonly publicUrl: string;
}

export const MESSAGE_BATCH = resource<AddressedBatch>('MessageBatch', {
  id: field.id('batch')('id'),
  type: field.constant('message_batch'),
  processing_status: field.oneOf(['in_progress', 'canceling', 'ended'])(({ status }) => {
    if (isFinalBatch(status)) return 'ended';
    return status === 'cancelling' ? 'canceling' : 'in_progress';
  }),
  request_counts: field.object(COUNTS)('counts'),
  created_at: field.isoTime('createdAt', 'When the batch was created'),
  expires_at: field.isoTime('expiresAt', 'When requests stop to start'),
  ended_at: field.isoTime.orNull('endedAt', 'When the last request ended'),
  cancel_initiated_at: field.isoTime.orNull('cancellingAt', 'When the batch was asked to stop'),
  archived_at: field.isoTime.orNull(() => null, 'Always null: results are kept as long as their file'),
  results_url: field.url.orNull(
    ({ status, id, publicUrl }) => (isFinalBatch(status) ? `${publicUrl}/v1/messages/batches/${id}/results` : null),
    'The address of the results. Null before the end',
  ),
});
