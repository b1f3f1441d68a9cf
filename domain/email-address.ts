/** What holds for every e-mail address that people sign in with; whether somebody reads mail there, only they can show. */
export const EMAIL_ADDRESS = /^[^\s@]+@[^\s@]+\.[^\s@]+$/;

/** RFC 5321, section 4.5.3.1.3: a path, without its angle brackets. */
export const EMAIL_ADDRESS_LENGTH = { min: 3, max: 254 } as const;
