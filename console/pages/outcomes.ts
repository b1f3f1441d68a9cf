/** What a form made is shown at an address of its own, for a while. */
import { shownOutcome } from '../once.ts';
import { everybody } from '../page.ts';

export const outcomePages = [everybody.page('/outcomes/{form_id}', shownOutcome)];
