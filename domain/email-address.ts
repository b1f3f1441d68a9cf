/**
 * The rules for every e-mail address that people sign in with; whether somebody reads mail there, only they can show. As in
 * https://html.spec.whatwg.org/multipage/input.html#valid-e-mail-address: nothing that a header or a list of recipients means
 * something by, and only ASCII, of which no two letters look the same.
 */
export const EMAIL_ADDRESS = /^[\w.!#$%&'*+/=?^`{|}~-]+@[a-z0-9-]+(\.[a-z0-9-]+)+$/i;

/** RFC 5321, section 4.5.3.1.3: a path, without its angle brackets. */
export const EMAIL_ADDRESS_LENGTH = { min: 3, max: 254 } as const;

export function isEmailAddress(text: string): boolean {
  return text.length <= EMAIL_ADDRESS_LENGTH.max && EMAIL_ADDRESS.test(text);
}
