/** How operators see the attempts to hand a task over to an upstream, and what they cost. */
import type { KeptSubmission } from '../../../db/queries/submissions.ts';
import { nullable } from '../../../domain/json-schema.ts';
import type { VendorCost } from '../../../domain/media-route.ts';
import { toUsdNumber } from '../../../domain/money.ts';
import { integer, isoTime, namedObject, oneOfTexts, text, usd } from '../../openapi/json-schema.ts';

export const VendorCostSchema = namedObject<ReturnType<typeof presentVendorCost>>(
  'VendorCost',
  {
    amount: text('A decimal'),
    unit: text('Such as `usd`, `tokens` or `units`'),
  },
  'What the upstream says that it charged.',
);

export function presentVendorCost({ amount, unit }: VendorCost) {
  return { amount, unit };
}

export const SubmissionSchema = namedObject<ReturnType<typeof presentSubmission>>('Submission', {
  attempt: integer('From 1'),
  upstream: text('Who it was handed over to'),
  upstream_model: text('Its name for the model'),
  submitted_at: isoTime('When, before the first byte was sent'),
  outcome: nullable(
    oneOfTexts(['accepted', 'refused', 'not_taken', 'unknown'], 'Null while it is not known; `unknown` once given up'),
  ),
  learnt_from: nullable(text('How the outcome was learnt')),
  detail: nullable(text('What was said')),
  settled_at: nullable(isoTime('When the outcome was learnt')),
  job_id: nullable(text('What the upstream calls the job')),
  cost_usd: nullable(usd('What it cost; null if it is not known')),
  vendor_cost: nullable(VendorCostSchema),
  possible_loss_usd: nullable(usd('The list price of what may have been rendered for nobody')),
});

export function presentSubmission(submission: KeptSubmission) {
  const { cost, possibleLoss, vendorCost } = submission;
  return {
    attempt: submission.attempt,
    upstream: submission.provider,
    upstream_model: submission.model,
    submitted_at: submission.submittedAt.toISOString(),
    outcome: submission.outcome,
    learnt_from: submission.learntFrom,
    detail: submission.detail,
    settled_at: submission.settledAt?.toISOString() ?? null,
    job_id: submission.jobId,
    cost_usd: cost === null ? null : toUsdNumber(cost),
    vendor_cost: vendorCost && presentVendorCost(vendorCost),
    possible_loss_usd: possibleLoss === null ? null : toUsdNumber(possibleLoss),
  };
}
