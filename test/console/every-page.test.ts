import { describeEveryPage, NARROW, WIDE } from './every-page.ts';

/** One page of each layout. `every-page.slow.test.ts` checks the others on a narrow, dark screen. */
const ALSO_NARROW = [
  '/sign-in',
  '',
  '/accounts/{account_id}/playground',
  '/accounts/{account_id}/tasks/{task_id}',
  '/accounts/{account_id}/usage',
  '/staff/accounts/{account_id}?tab=money',
  '/staff/live',
];

describeEveryPage('every page of the console', (path) => (ALSO_NARROW.includes(path) ? [WIDE, NARROW] : [WIDE]));
