/** What a form made is shown at an address of its own, for a while. */
import { shownOutcome } from '../once.ts';
import { page } from '../page.ts';

export const outcomePages = [
  page({ method: 'get', path: '/outcomes/{form_id}', access: 'everybody', handle: shownOutcome }),
];
