/** Reconciliations of a stack, as operators request them. */
import { waitUntil } from '../../bin/stack/wait-until.ts';
import { PATIENCE_MS } from './eventually.ts';
import { call, type TestStack } from './stack.ts';

export interface ReportBody {
  readonly id: string;
  readonly status: 'running' | 'clean' | 'findings';
  readonly requested_by: string;
  readonly findings: readonly { readonly check: string; readonly subject: string; readonly detail: string }[];
}

/** Runs a reconciliation. @returns its report, once it has ended */
export async function reconcile(stack: TestStack): Promise<ReportBody> {
  const { body } = await call<{ data: ReportBody }>(`${stack.baseUrl}/admin/v1/reconciliations`, {
    key: stack.adminToken,
    method: 'POST',
  });
  return reportWhenEnded(stack, body.data.id);
}

/** Polls until the reconciliation has ended. */
export async function reportWhenEnded({ baseUrl, adminToken }: TestStack, id: string): Promise<ReportBody> {
  return waitUntil(
    async () => {
      const url = `${baseUrl}/admin/v1/reconciliations/${id}`;
      const { body } = await call<{ data: ReportBody }>(url, { key: adminToken });
      if (body.data.status === 'running') throw new Error('the reconciliation is still running');
      return body.data;
    },
    { timeoutMs: PATIENCE_MS, pauseMs: 200 },
  );
}
