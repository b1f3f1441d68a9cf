/** The submissions of a task to upstreams as operators see them, with their costs. */
import type { StoredSubmission } from '../../db/queries/submissions.ts';
import { noteOf, type VendorCost } from '../../domain/media-route.ts';
import * as field from '../../domain/resource/field.ts';
import { resource } from '../../domain/resource/resource.ts';

export const VENDOR_COST = resource<VendorCost>(
  'VendorCost',
  {
    amount: field.text('amount', 'A decimal number'),
    unit: field.text('unit', 'The unit, such as `usd`, `tokens` or `units`'),
  },
  'The amount that the upstream reported to have charged.',
);

/** Describes the field with the last words of an upstream about a task. */
export const VENDOR_MESSAGE =
  'What the upstream last reported about a job that it refused, did not take or did not finish, for operators. Null if nothing';

const OUTCOMES = ['accepted', 'refused', 'not_taken', 'unknown'];

export const SUBMISSION = resource<StoredSubmission>('Submission', {
  attempt: field.integer('attempt', 'The number of the attempt, from 1'),
  upstream: field.text('provider', 'The upstream that received the task'),
  upstream_model: field.text('model', 'The upstream’s name for the model'),
  submitted_at: field.isoTime('submittedAt', 'When the attempt was recorded, before the first byte was sent'),
  outcome: field
    .oneOf(OUTCOMES)
    .orNull('outcome', 'The outcome. Null while open, `unknown` if it can no longer be learnt'),
  learnt_from: field.text.orNull('evidence', 'The source of the outcome'),
  detail: field.text.orNull(noteOf, 'The upstream’s message, or a note'),
  settled_at: field.isoTime.orNull('settledAt', 'When the outcome was recorded. Null while open'),
  job_id: field.text.orNull('jobId', 'The upstream’s id of the job'),
  cost_usd: field.usd.orNull('cost', 'The cost. Null if unknown'),
  vendor_cost: field.object(VENDOR_COST).orNull('vendorCost'),
  possible_loss_usd: field.usd.orNull('possibleLoss', 'The list price of possible renders that no client received'),
});
