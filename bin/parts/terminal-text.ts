/**
 * Makes foreign text safe for a terminal. Control characters could move the cursor, hide text, or send commands to the
 * terminal; direction marks could reorder the visible text.
 */
const CONTROLS = /[\p{Cc}\p{Zl}\p{Zp}\u{200e}\u{200f}\u{202a}-\u{202e}\u{2066}-\u{2069}]/gu;

/** Replaces every control character, except line feeds, with its code. */
export function toLines(text: string): string {
  return text.replace(CONTROLS, (control) => (control === '\n' ? control : codeOf(control)));
}

/** Replaces every control character with its code. */
export function toOneLine(text: string): string {
  return text.replace(CONTROLS, codeOf);
}

function codeOf(control: string): string {
  return `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
