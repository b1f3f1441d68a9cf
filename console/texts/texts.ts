/** The languages of the console. */
import type { Language, LocalText, Site } from '../../catalogue/site.ts';
import { english } from './en.ts';
import { FINDINGS_ZH } from './findings-zh.ts';
import { chinese } from './zh.ts';

export type Texts = ReturnType<typeof english>;

const LANGUAGES: Readonly<Record<Language, (product: string) => Texts>> = { en: english, zh: chinese };

/** The texts with the last name of the service. The operator seldom changes it. */
let named: { readonly product: string; readonly texts: Readonly<Record<Language, Texts>> } | null = null;

/**
 * Returns the texts of a language, or the English texts if there are none.
 *
 * @param product the operator's name of the service
 */
export function textsIn(language: string, product: string): Texts {
  if (named?.product !== product) named = { product, texts: { en: english(product), zh: chinese(product) } };
  return named.texts[isLanguage(language) ? language : 'en'];
}

/** Returns the operator's text in the language of a page. */
export function inLanguage(text: LocalText, { language }: Texts): string {
  return text[isLanguage(language) ? language : 'en'];
}

function isLanguage(language: string): language is Language {
  return Object.hasOwn(LANGUAGES, language);
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

/**
 * Returns the language of the site that the browser prefers: RFC 9110, section 12.5.4.
 *
 * @param languages those of the site; the first is for browsers that prefer none of them
 */
export function preferredLanguage(acceptLanguage: string, { languages }: Pick<Site, 'languages'>): Language {
  const wanted = acceptLanguage
    .slice(0, 200)
    .split(',')
    .map((entry) => {
      const [tag = '', quality] = entry.split(';q=');
      return { language: tag.trim().slice(0, 2).toLowerCase(), quality: Number(quality ?? 1) };
    })
    .toSorted((one, other) => other.quality - one.quality);
  const preferred = wanted.map(({ language }) => languages.find((one) => one === language));
  return preferred.find((language) => language !== undefined) ?? languages[0];
}

export const LANGUAGE_NAMES: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(LANGUAGES).map(([language, texts]) => [language, texts('').languageName]),
);

/** Returns the word for a value in the reader's language; the value itself if there is no word. */
export function wordFor(name: string, value: string, { values }: Texts): string {
  const messages: Readonly<Record<string, Readonly<Record<string, string>>>> = values;
  return messages[name]?.[value] ?? value;
}

/** The words for a failure of an upstream: the fault of a call, or the error code of a task whose job failed. */
export function faultWords(fault: string, texts: Texts): string {
  const word = wordFor('cause', fault, texts);
  return word === fault ? wordFor('error_code', fault, texts) : word;
}
