/** The languages of the console. */
import { en } from './en.ts';
import { FINDINGS_ZH } from './findings-zh.ts';
import { zh } from './zh.ts';

export type Texts = typeof en;

const LANGUAGES: Readonly<Record<string, Texts>> = { en, zh };

/** Returns the texts of a language, or the English texts if there are none. */
export function textsIn(language: string): Texts {
  return LANGUAGES[language] ?? en;
}

/** The sentences of reconciliation in a language, by those of its reports, which are English. */
export interface FindingTexts {
  question(check: string, english: string): string;
  remedy(check: string, english: string): string;
  detail(english: string): string;
}

const AS_REPORTED: FindingTexts = {
  question: (_check, english) => english,
  remedy: (_check, english) => english,
  detail: (english) => english,
};

export function findingTexts({ language }: Texts): FindingTexts {
  return language === 'zh' ? FINDINGS_ZH : AS_REPORTED;
}

/** Returns the language of the console that the browser prefers: RFC 9110, section 12.5.4. */
export function preferredLanguage(acceptLanguage: string): string {
  const wanted = acceptLanguage
    .slice(0, 200)
    .split(',')
    .map((entry) => {
      const [tag = '', quality] = entry.split(';q=');
      return { language: tag.trim().slice(0, 2).toLowerCase(), quality: Number(quality ?? 1) };
    })
    .toSorted((one, other) => other.quality - one.quality);
  return wanted.find(({ language }) => Object.hasOwn(LANGUAGES, language))?.language ?? 'en';
}

export const LANGUAGE_NAMES: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(LANGUAGES).map(([language, { languageName }]) => [language, languageName]),
);

/** Returns the word for a value in the reader's language; the value itself if there is no word. */
export function wordFor(name: string, value: string, { values }: Texts): string {
  const messages: Readonly<Record<string, Readonly<Record<string, string>>>> = values;
  return messages[name]?.[value] ?? value;
}
