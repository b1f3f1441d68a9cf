/** The id by which a form is acted on once, however often it is sent. Each time that a form is shown, it has another. */
import { randomBytes } from 'node:crypto';

const ID_BYTES = 16;

export function FormId() {
  // Browsers that restore what was typed would restore the id of a form that was sent already.
  return <input type="hidden" name="form_id" value={newFormId()} autocomplete="off" />;
}

/** The same page with forms that were not sent yet. */
export function withNewFormIds(html: string): string {
  return html.replaceAll(/(name="form_id" value=")[^"]*/g, (_, before: string) => before + newFormId());
}

function newFormId(): string {
  return randomBytes(ID_BYTES).toString('base64url');
}
