/**
 * The id of a form, by which its work is done once however often the browser sends it. Each visit of a page has new ids: a
 * refused form keeps its id, and so does a sent form to which the browser returns (`console.js`).
 */
import { randomBytes } from 'node:crypto';

const ID_BYTES = 16;

/** @param refused the id of the refused form that the page shows again; null for a new form */
export function FormId({ refused }: { refused: string | null }) {
  // Without `autocomplete="off"`, a browser would restore ids after a reload, which starts a new visit.
  return <input type="hidden" name="form_id" value={refused ?? newFormId()} autocomplete="off" />;
}

/** Gives all forms of a page new ids. */
export function withNewFormIds(html: string): string {
  return html.replaceAll(/(name="form_id" value=")[^"]*/g, (_, before: string) => before + newFormId());
}

function newFormId(): string {
  return randomBytes(ID_BYTES).toString('base64url');
}
