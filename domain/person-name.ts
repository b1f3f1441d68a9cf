/** In characters, not in bytes. */
export const PERSON_NAME_LENGTH = 100;

/** Line breaks and other control characters, and characters that change the direction of text. */
const DISGUISE = /[\p{Cc}\p{Co}\p{Cs}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u;
const VISIBLE = /[\p{L}\p{N}\p{P}\p{S}]/u;

/** Whether a text can be a person's name: it is visible, and no character disguises it. */
export function isPersonName(name: string): boolean {
  return Array.from(name).length <= PERSON_NAME_LENGTH && VISIBLE.test(name) && !DISGUISE.test(name);
}
