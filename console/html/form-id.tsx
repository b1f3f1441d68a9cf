/** The id of a form, by which its work is done once however often the browser sends it. Each page has new ids. */
import { randomBytes } from 'node:crypto';

const ID_BYTES = 16;

export function FormId() {
  // Without `autocomplete="off"`, a browser would restore the id of a form that was already sent.
  return <input type="hidden" name="form_id" value={newFormId()} autocomplete="off" />;
}

/** Gives all forms of a page new ids. */
export function withNewFormIds(html: string): string {
  return html.replaceAll(/(name="form_id" value=")[^"]*/g, (_, before: string) => before + newFormId());
}

function newFormId(): string {
  return randomBytes(ID_BYTES).toString('base64url');
}
