/** All pages of the console. The first page with a matching path handles a request. */
import { showOutcome } from './idempotent-forms.ts';
import { everybody, type Page } from './page.ts';
import { billingPages } from './pages/billing/pages.tsx';
import { accountBudgetPages } from './pages/budgets/pages.tsx';
import { endUserPages } from './pages/end-users/pages.tsx';
import { closeAccountPages } from './pages/close-account/pages.tsx';
import { batchPages } from './pages/batches/pages.tsx';
import { filePages } from './pages/files/pages.tsx';
import { homePages } from './pages/home/pages.tsx';
import { keyPages } from './pages/keys/pages.tsx';
import { memberPages } from './pages/members/pages.tsx';
import { modelPages } from './pages/models/pages.tsx';
import { playgroundPages } from './pages/playground/pages.tsx';
import { profilePages } from './pages/profile/pages.tsx';
import { registrationPages } from './pages/registration/pages.tsx';
import { searchPages } from './pages/search/pages.tsx';
import { signInPages } from './pages/sign-in/pages.tsx';
import { staffAccountPages } from './pages/staff/accounts/pages.tsx';
import { staffPeoplePages } from './pages/staff/people/pages.tsx';
import { staffReconciliationPages } from './pages/staff/reconciliations/pages.tsx';
import { staffRegistrationPages } from './pages/staff/registrations/pages.tsx';
import { staffRefundPages } from './pages/staff/refunds/pages.tsx';
import { staffBatchPages } from './pages/staff/batches/pages.tsx';
import { staffTaskPages } from './pages/staff/tasks/pages.tsx';
import { staffMergePages } from './pages/staff/accounts/merge.tsx';
import { staffCorrectionPages } from './pages/staff/corrections/pages.tsx';
import { staffGiftCodePages } from './pages/staff/gift-codes/pages.tsx';
import { staffPlanPages } from './pages/staff/plans/pages.tsx';
import { staffMonthPages } from './pages/staff/months/pages.tsx';
import { staffActionPages } from './pages/staff/actions/pages.tsx';
import { staffFailurePages } from './pages/staff/failures/pages.tsx';
import { staffLivePages } from './pages/staff/live/pages.tsx';
import { staffPriceListPages } from './pages/staff/price-lists/pages.tsx';
import { staffModelPages } from './pages/staff/models/pages.tsx';
import { staffTextRequestPages } from './pages/staff/text-requests/pages.tsx';
import { staffUpstreamPages } from './pages/staff/upstreams/pages.tsx';
import { staffWebhookPages } from './pages/staff/webhooks/pages.tsx';
import { taskPages } from './pages/tasks/pages.tsx';
import { usagePages } from './pages/usage/pages.tsx';
import { viewPages } from './pages/views.ts';
import { webhookPages } from './pages/webhooks/pages.tsx';

export const PAGES: readonly Page[] = [
  ...signInPages,
  ...registrationPages,
  ...profilePages,
  // The page that answered a form, stored for a while.
  everybody.page('/outcomes/{form_id}', showOutcome),
  ...viewPages,
  ...searchPages,
  ...homePages,
  ...closeAccountPages,
  ...playgroundPages,
  ...modelPages,
  ...taskPages,
  ...keyPages,
  ...webhookPages,
  ...staffAccountPages,
  ...staffPeoplePages,
  ...staffRegistrationPages,
  ...staffMonthPages,
  ...staffRefundPages,
  ...staffReconciliationPages,
  ...staffMergePages,
  ...staffCorrectionPages,
  ...staffGiftCodePages,
  ...staffPlanPages,
  ...usagePages,
  ...accountBudgetPages,
  ...endUserPages,
  ...staffTaskPages,
  ...staffBatchPages,
  ...billingPages,
  ...staffLivePages,
  ...staffFailurePages,
  ...staffActionPages,
  ...staffModelPages,
  ...staffPriceListPages,
  ...staffTextRequestPages,
  ...staffUpstreamPages,
  ...staffWebhookPages,
  ...batchPages,
  ...filePages,
  ...memberPages,
];

/** Finds the page that a browser opens at a path below the console. */
export function findPage(path: string): Page | undefined {
  return OPENED.find(({ pattern }) => pattern.test(path))?.page;
}

const OPENED = PAGES.filter(({ method }) => method === 'get').map((page) => ({ page, pattern: patternOf(page) }));

function patternOf({ path }: Page): RegExp {
  return new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`);
}
