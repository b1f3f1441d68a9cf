/**
 * The form of every e-mail address that people sign in with. An address of this form need not receive mail. As
 * in https://html.spec.whatwg.org/multipage/input.html#valid-e-mail-address: no character with a meaning in headers or
 * in lists of recipients, and only ASCII, so that no two addresses look the same.
 */
export const EMAIL_ADDRESS = /^[\w.!#$%&'*+/=?^`{|}~-]+@[a-z0-9-]+(\.[a-z0-9-]+)+$/i;

/** RFC 5321, section 4.5.3.1.3: a path, without its angle brackets. */
export const EMAIL_ADDRESS_LENGTH = { min: 3, max: 254 } as const;

export function isEmailAddress(text: string): boolean {
  return text.length <= EMAIL_ADDRESS_LENGTH.max && EMAIL_ADDRESS.test(text);
}
