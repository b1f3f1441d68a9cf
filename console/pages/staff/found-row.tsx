import { BILL_CHECK } from '../../../db/reconciliation/bill-check.ts';
import { LinkedIds } from '../../html/linked-ids.tsx';

/** The subject of a finding about a bill: the vendor, the month and the model. */
const BILL_SUBJECT = /^(.+?) (\d{4}-\d{2}) /;

/** The row of a finding, and the check that found it. */
export function FoundRow({ subject, check }: { subject: string; check: string }) {
  const [, vendor, month] = (check === BILL_CHECK.name ? BILL_SUBJECT.exec(subject) : null) ?? [];
  return (
    <>
      {vendor === undefined ? (
        <LinkedIds text={subject} />
      ) : (
        <a href={`/console/staff/months/${month}/bills/${encodeURIComponent(vendor)}`}>{subject}</a>
      )}
      <p class="hint">{check}</p>
    </>
  );
}
