/** The submissions of a task to upstreams as operators see them, with their costs. */
import type { KeptSubmission } from '../../../db/queries/submissions.ts';
import { noteOf, type VendorCost } from '../../../domain/media-route.ts';
import * as field from '../../../domain/resource/field.ts';
import { resource } from '../../../domain/resource/resource.ts';

export const VENDOR_COST = resource<VendorCost>(
  'VendorCost',
  {
    amount: field.text('amount', 'A decimal'),
    unit: field.text('unit', 'Such as `usd`, `tokens` or `units`'),
  },
  'What the upstream says that it charged.',
);

const OUTCOMES = ['accepted', 'refused', 'not_taken', 'unknown'];

export const SUBMISSION = resource<KeptSubmission>('Submission', {
  attempt: field.integer('attempt', 'From 1'),
  upstream: field.text('provider', 'Who it was handed over to'),
  upstream_model: field.text('model', 'Its name for the model'),
  submitted_at: field.isoTime('submittedAt', 'When, before the first byte was sent'),
  outcome: field.oneOf(OUTCOMES).orNull('outcome', 'Null while it is not known; `unknown` once given up'),
  learnt_from: field.text.orNull('learntFrom', 'How the outcome was learnt'),
  detail: field.text.orNull(noteOf, 'What was said'),
  settled_at: field.isoTime.orNull('settledAt', 'When the outcome was learnt'),
  job_id: field.text.orNull('jobId', 'What the upstream calls the job'),
  cost_usd: field.usd.orNull('cost', 'What it cost; null if it is not known'),
  vendor_cost: field.object(VENDOR_COST).orNull('vendorCost'),
  possible_loss_usd: field.usd.orNull('possibleLoss', 'The list price of what may have been rendered for nobody'),
});
