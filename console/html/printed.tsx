/** What printed documents and statements have in common. The style sheet leaves controls out of the print. */
import type { Party } from '../../domain/billing-document.ts';
import { useTexts } from './page-context.ts';

export function PartyLines({ title, party: { name, address, taxId } }: { title: string; party: Party }) {
  const { fields } = useTexts();
  return (
    <div>
      <h2>{title}</h2>
      <address>
        {[name, ...address, ...(taxId === null ? [] : [`${fields.tax_id}: ${taxId}`])].map((line) => (
          <>
            {line}
            <br />
          </>
        ))}
      </address>
    </div>
  );
}

export function PrintButton() {
  const { common } = useTexts();
  return (
    <button type="button" class="quiet" data-print>
      {common.print}
    </button>
  );
}
