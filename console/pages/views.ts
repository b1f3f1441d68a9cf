/** Saves and deletes views: lists of the console with filters, which a user saves under names. */
import { deleteView, type SavedView, saveView } from '../../db/queries/users.ts';
import { cutText } from '../../domain/cut-text.ts';
import type { Form } from '../form.ts';
import { openPage, user } from '../page.ts';

const MAX_NAME_LENGTH = 60;
const MAX_QUERY_LENGTH = 1_000;
/** Matches the paths of lists of accounts and of operators. */
const LIST = /^\/(accounts|staff)\/[\w/-]{1,200}$/;

export const viewPages = [
  user.form('/views', async ({ user: { id }, form }, { database }) => {
    const view = viewIn(form);
    if (view.name !== '' && LIST.test(view.path)) await saveView(database, id, view);
    return openPage(addressOf(view), 'viewSaved');
  }),
  user.form('/views/delete', async ({ user: { id }, form }, { database }) => {
    const view = viewIn(form);
    await deleteView(database, id, view);
    return openPage(addressOf(view), 'deleted');
  }),
];

function viewIn(form: Form): SavedView {
  const filters = new URLSearchParams(form.text('query').slice(0, MAX_QUERY_LENGTH));
  filters.delete('cursor');
  const query = filters.toString();
  return { name: cutText(form.text('view'), MAX_NAME_LENGTH), path: form.text('path'), query };
}

function addressOf({ path, query }: SavedView): string {
  return LIST.test(path) ? `${path}?${query}` : '';
}
