/**
 * Text from others as a terminal may show it. Control characters could move the cursor, hide what stands there, or make the
 * terminal act; marks of direction could reorder what is read.
 */
const CONTROLS = /[\p{Cc}\p{Zl}\p{Zp}\u{200e}\u{200f}\u{202a}-\u{202e}\u{2066}-\u{2069}]/gu;

/** Several lines: shows every control character as its code, but line feeds. */
export function toLines(text: string): string {
  return text.replace(CONTROLS, (control) => (control === '\n' ? control : codeOf(control)));
}

/** One line: shows every control character as its code. */
export function toOneLine(text: string): string {
  return text.replace(CONTROLS, codeOf);
}

function codeOf(control: string): string {
  return `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
