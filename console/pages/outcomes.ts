/** The page of a form's outcome, stored for a while. */
import { showOutcome } from '../once.ts';
import { everybody } from '../page.ts';

export const outcomePages = [everybody.page('/outcomes/{form_id}', showOutcome)];
