/** The shapes of closed months. */
import { type AcknowledgedFinding, type ClosedMonth } from '../../db/queries/closed-months.ts';
import { formatUsd } from '../../domain/money.ts';
import * as field from '../../domain/resource/field.ts';
import { nested, resource } from '../../domain/resource/resource.ts';
import { object } from '../../domain/json-schema.ts';
import { sumRevenue } from '../money/month-rows.ts';

export const ACKNOWLEDGED_FINDING = nested<AcknowledgedFinding>({
  id: field.id('acknowledgement')('id'),
  check: field.text('check', 'The name of the check'),
  subject: field.text('subject', 'The id of the row'),
  detail: field.text('detail', 'The fault, with amounts in pico-USD'),
  reason: field.text('reason', 'Why the finding stays'),
  author: field.text('author', 'Who acknowledged the finding'),
  confirmed_by: field.text('confirmedBy', 'The second person, or the author if one person suffices'),
  acknowledged_at: field.textWith({ format: 'date-time' })('acknowledgedAt', 'When the finding was acknowledged'),
});

export const CLOSED_MONTH = resource<ClosedMonth>(
  'ClosedMonth',
  {
    object: field.constant('closed_month'),
    month: field.text('month', 'The month in UTC, such as 2026-10'),
    closed_at: field.isoTime('closedAt', 'When the month was closed'),
    author: field.text('author', 'Who closed the month'),
    transfers: field.count('transfers', 'The number of transfers'),
    revenue_usd: field.exactUsd(sumRevenue, 'The amount charged'),
    amounts_usd: field.json(object({}, 'The sums of the transfers by kind, in USD, exact'))(({ amounts }) =>
      Object.fromEntries([...amounts].map(([kind, amount]) => [kind, formatUsd(amount)])),
    ),
    checksum: field.text('checksum', 'The checksum over all transfers, which reconciliation compares'),
    acknowledged_findings: field.list(ACKNOWLEDGED_FINDING)('acknowledged', 'The findings acknowledged until then'),
  },
  'A month whose ledger can no longer change.',
);
