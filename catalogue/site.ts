/** The operator's file about the site: the name, the look and the documents that people see in place of Genway's. */
import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import Joi from 'joi';
import { parseUsd, type PicoUsd } from '../domain/money.ts';
import type { Finding, OperatorFile } from './operator-file.ts';
import { checkAgainst, type Checked } from './schema-findings.ts';
import { type ProviderEntry, type ProviderSettings, providersSchema, readProvider } from './sign-in-providers.ts';
import { emailDomain, NO_CREDIT, readSignupRules, type SignupEntries, signupKeys, type SignupRules } from './signup.ts';
import { type MoneyEntries, moneyKeys, NO_MONEY_RULES, readSiteMoney, type SiteMoney } from './site-money.ts';

const LANGUAGES = ['en', 'zh'] as const;
export type Language = (typeof LANGUAGES)[number];

/** A text in each language. */
export type LocalText = Readonly<Record<Language, string>>;

const DOCUMENTS = ['terms', 'privacy'] as const;
export type SiteDocumentName = (typeof DOCUMENTS)[number];

export interface Picture {
  readonly type: 'image/svg+xml' | 'image/png' | 'image/jpeg' | 'image/webp';
  readonly content: Buffer;
}

/** A document in Markdown, at a path of its name. */
export interface SiteDocument {
  readonly name: SiteDocumentName;
  /** Names what people accepted; changes whenever the text changes. */
  readonly version: string;
  readonly text: LocalText;
}

/** Who may register without an invitation. */
export interface OpenRegistration {
  /** The domains of the accepted e-mail addresses, in lower case; null for all. */
  readonly domains: readonly string[] | null;
  /** Whether an operator approves each registration. */
  readonly needsApproval: boolean;
}

export interface Site extends SignupRules, SiteMoney {
  readonly name: string;
  /** The file stands beside the name; null for Genway's mark. */
  readonly logo: Picture | null;
  /** The icon in the browser's tab; null for the logo. */
  readonly mark: Picture | null;
  /** The color of links and buttons, such as `#0f766e`; null for Genway's. */
  readonly color: string | null;
  /** An e-mail address or a web address for questions of customers; null if there is none. */
  readonly support: string | null;
  readonly links: readonly { readonly label: LocalText; readonly url: string }[];
  /** Stands above every page; null for none. */
  readonly announcement: LocalText | null;
  readonly documents: readonly SiteDocument[];
  /** The languages of the pages; the first for readers who want none of them. */
  readonly languages: readonly [Language, ...Language[]];
  /** A result of a model, by the model's id. */
  readonly pictures: ReadonlyMap<string, Picture>;
  /** Whether strangers see the home page, the models and the prices. */
  readonly isPublic: boolean;
  /** Null if people come by invitation only. */
  readonly registration: OpenRegistration | null;
  readonly plans: readonly Plan[];
  /** The providers with which people sign in. */
  readonly providers: readonly ProviderSettings[];
  /** The paths of the files that the file names, whose changes count as changes of the file. */
  readonly files: readonly string[];
}

/** A monthly plan. A paid period has its terms as they are when the payment is announced. */
export interface Plan {
  readonly id: string;
  readonly name: LocalText;
  readonly usdPerMonth: PicoUsd;
  /** Granted for each paid period, until its end. */
  readonly included: PicoUsd;
  /** The models that keys may call: ids, or their beginnings with a final `*`; null for all. */
  readonly models: readonly string[] | null;
  /** Requests per minute of each key; null for the default. */
  readonly rateLimitRpm: number | null;
  /** Members and open invitations; null for no limit. */
  readonly seats: number | null;
  /** The id of the monthly price at Stripe. */
  readonly stripePrice: string;
}

/** The ground of a mark where the operator has no color, as of Genway's own in `console/assets/icon.svg`. */
const MARK_COLOR = '#4f46e5';

/** The site without a file. */
export const OWN_SITE: Site = {
  ...NO_CREDIT,
  ...NO_MONEY_RULES,
  name: 'Genway',
  logo: null,
  mark: null,
  color: null,
  support: null,
  links: [],
  announcement: null,
  documents: [],
  languages: LANGUAGES,
  pictures: new Map(),
  isPublic: false,
  registration: null,
  plans: [],
  providers: [],
  files: [],
};

type LocalEntry = string | LocalText;

interface DocumentEntry {
  readonly version: string;
  readonly file: LocalEntry;
}

interface PlanEntry {
  readonly id: string;
  readonly name: LocalEntry;
  readonly usd_per_month: number;
  readonly included_usd: number;
  readonly models?: readonly string[];
  readonly rate_limit_rpm?: number;
  readonly seats?: number;
  readonly stripe_price: string;
}

interface SiteFile extends SignupEntries, MoneyEntries, Readonly<Partial<Record<SiteDocumentName, DocumentEntry>>> {
  readonly name: string;
  readonly logo?: string;
  readonly mark?: string;
  readonly color?: string;
  readonly support?: string;
  readonly links: readonly { readonly label: LocalEntry; readonly url: string }[];
  readonly announcement?: LocalEntry;
  readonly languages: Site['languages'];
  readonly pictures: Readonly<Record<string, string>>;
  readonly plans: readonly PlanEntry[];
  readonly public: boolean;
  readonly registration: 'invited' | 'open' | { readonly domains?: readonly string[]; readonly approval: boolean };
  readonly providers: readonly ProviderEntry[];
}

const MAX_PICTURE_BYTES = 100_000;
/** Every process keeps the pictures in memory. */
const MAX_RESULTS = 200;
const MAX_DOCUMENT_BYTES = 200_000;

const shortText = Joi.string().max(500);
const local = Joi.alternatives(
  shortText,
  Joi.object(Object.fromEntries(LANGUAGES.map((language) => [language, shortText.required()]))),
);
const document = Joi.object<DocumentEntry>({ version: Joi.string().max(50).required(), file: local.required() });

const usd = Joi.number().min(0).max(100_000).precision(2);
const plan = Joi.object<PlanEntry>({
  id: Joi.string()
    .pattern(/^[a-z0-9][a-z0-9-]{0,62}$/)
    .required(),
  name: local.required(),
  usd_per_month: usd.required(),
  included_usd: usd.default(0),
  models: Joi.array()
    .min(1)
    .max(100)
    .items(
      Joi.string()
        .max(100)
        .pattern(/^[^*]+\*?$/),
    ),
  rate_limit_rpm: Joi.number().integer().min(1).max(1_000_000),
  seats: Joi.number().integer().min(1).max(200),
  stripe_price: Joi.string().max(200).required(),
});

export const siteSchema = Joi.object<SiteFile>({
  name: Joi.string()
    .pattern(/^\P{Cc}+$/u)
    .max(60)
    .required(),
  logo: Joi.string(),
  mark: Joi.string(),
  color: Joi.string().custom(assertReadable),
  support: Joi.alternatives(Joi.string().email({ tlds: false }), Joi.string().uri({ scheme: ['https'] })),
  links: Joi.array()
    .max(20)
    .items(
      Joi.object({
        label: local.required(),
        url: Joi.string()
          .uri({ scheme: ['http', 'https'] })
          .required(),
      }),
    )
    .default([]),
  announcement: local,
  terms: document,
  privacy: document,
  languages: Joi.array()
    .items(Joi.string().valid(...LANGUAGES))
    .min(1)
    .max(LANGUAGES.length)
    .unique()
    .default(LANGUAGES),
  pictures: Joi.object().pattern(Joi.string(), Joi.string()).max(MAX_RESULTS).default({}),
  plans: Joi.array().max(20).items(plan).unique('id').unique('stripe_price').default([]),
  public: Joi.boolean().default(false),
  registration: Joi.alternatives(
    Joi.string().valid('invited', 'open'),
    Joi.object({ domains: Joi.array().items(emailDomain).min(1).max(1_000), approval: Joi.boolean().default(false) }),
  ).default('invited'),
  providers: providersSchema,
  ...signupKeys,
  ...moneyKeys,
})
  .required()
  .messages({ 'any.custom': '{{#label}} is wrong: {{#error.message}}' });

/** The contrast of WCAG 2.2, section 1.4.3, against the white of cards; the dark style mixes the color with white. */
function assertReadable(color: string): string {
  const channels = /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})$/i.exec(color)?.slice(1);
  if (channels === undefined) throw new Error('it must have six hexadecimal digits, such as "#0f766e"');
  const [red = 0, green = 0, blue = 0] = channels
    .map((digits) => Number.parseInt(digits, 16) / 255)
    .map((share) => (share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4));
  const contrast = 1.05 / (0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05);
  if (contrast < 4.5)
    throw new Error(`its contrast with white is ${contrast.toFixed(1)}, and people can read 4.5 or more: darken it`);
  return color;
}

/** Whether the content of a file is that of a site: the other files of the operator have no name. */
export function isSiteFile({ written }: OperatorFile): boolean {
  return typeof written === 'object' && written !== null && 'name' in written;
}

/** Checks a file, and reads the files that it names, by paths relative to it. Returns all findings. */
export function checkSite(file: OperatorFile): Checked<Site> {
  const { value, findings } = checkAgainst(file, siteSchema);
  if (value === null) return { value, findings };
  const files = new NamedFiles(file);
  const { name, color = null, support = null, announcement, public: isPublic } = value;
  const site: Site = {
    ...readSignupRules(value),
    ...readSiteMoney(value),
    name,
    color,
    support,
    isPublic,
    registration: readRegistration(value.registration),
    providers: value.providers.map(readProvider),
    logo: value.logo === undefined ? null : files.picture(['logo'], value.logo),
    mark: readMark(value, files),
    links: value.links.map(({ label, url }) => ({ label: inEveryLanguage(label), url })),
    announcement: announcement === undefined ? null : inEveryLanguage(announcement),
    documents: DOCUMENTS.flatMap((document) => files.document(document, value[document]) ?? []),
    languages: value.languages,
    pictures: new Map(
      Object.entries(value.pictures).flatMap(([model, path]) => {
        const picture = files.picture(['pictures', model], path);
        return picture === null ? [] : [[model, picture]];
      }),
    ),
    plans: value.plans.map(toPlan),
    files: files.paths,
  };
  return files.findings.length > 0 ? { value: null, findings: files.findings } : { value: site, findings };
}

/** Without a picture of the operator, the mark is the first letter of the name on the color. */
function readMark({ name, color = MARK_COLOR, logo, mark }: SiteFile, files: NamedFiles): Picture | null {
  if (mark !== undefined) return files.picture(['mark'], mark);
  if (logo !== undefined) return null;
  const [letter = ''] = name.toUpperCase();
  const content = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="8" fill="${color}"/><text x="16" y="23" text-anchor="middle" font-family="sans-serif" font-weight="700" font-size="20" fill="#fff">&#${
    letter.codePointAt(0) ?? 0
  };</text></svg>`;
  return { type: 'image/svg+xml', content: Buffer.from(content) };
}

function readRegistration(entry: SiteFile['registration']): OpenRegistration | null {
  if (entry === 'invited') return null;
  const { domains = null, approval: needsApproval } = entry === 'open' ? { approval: false } : entry;
  return { domains, needsApproval };
}

function toPlan(entry: PlanEntry): Plan {
  return {
    id: entry.id,
    name: inEveryLanguage(entry.name),
    usdPerMonth: parseUsd(entry.usd_per_month),
    included: parseUsd(entry.included_usd),
    models: entry.models ?? null,
    rateLimitRpm: entry.rate_limit_rpm ?? null,
    seats: entry.seats ?? null,
    stripePrice: entry.stripe_price,
  };
}

function inEveryLanguage(entry: LocalEntry): LocalText {
  return typeof entry === 'string' ? { en: entry, zh: entry } : entry;
}

function pictureType(content: Buffer): Picture['type'] | null {
  const start = content.toString('latin1', 0, 12);
  if (start.startsWith('\u0089PNG\r\n\u001a\n')) return 'image/png';
  if (start.startsWith('\u00ff\u00d8\u00ff')) return 'image/jpeg';
  if (/^RIFF[^]{4}WEBP$/.test(start)) return 'image/webp';
  const isSvg = /^(?:\uFEFF|\s|<\?xml[^>]*>|<!--[^>]*-->)*<svg[\s>]/.test(content.toString('utf8'));
  return isSvg ? 'image/svg+xml' : null;
}

/** Reads the files that a site's file names. */
class NamedFiles {
  readonly paths: string[] = [];
  readonly findings: Finding[] = [];
  readonly #site: OperatorFile;

  constructor(site: OperatorFile) {
    this.#site = site;
  }

  /** Tells pictures by their content, so that a browser never guesses. */
  picture(field: readonly string[], path: string): Picture | null {
    const content = this.#read(field, path, MAX_PICTURE_BYTES);
    if (content === null) return null;
    const type = pictureType(content);
    if (type !== null) return { type, content };
    this.#report(field, 'must name a picture in SVG, PNG, JPEG or WebP');
    return null;
  }

  document(name: SiteDocumentName, entry: DocumentEntry | undefined): SiteDocument | null {
    if (entry === undefined) return null;
    const { version } = entry;
    const file = inEveryLanguage(entry.file);
    const [en, zh] = LANGUAGES.map((language) => this.#read([name, 'file'], file[language], MAX_DOCUMENT_BYTES));
    return en && zh ? { name, version, text: { en: en.toString('utf8'), zh: zh.toString('utf8') } } : null;
  }

  #read(field: readonly string[], path: string, maxBytes: number): Buffer | null {
    const full = resolve(dirname(this.#site.name), path);
    try {
      const content = readFileSync(full);
      if (!this.paths.includes(full)) this.paths.push(full);
      if (content.length <= maxBytes) return content;
      this.#report(field, `names a file of ${content.length} bytes; the limit is ${maxBytes}`);
    } catch {
      this.#report(field, `names ${full}, which cannot be read`);
    }
    return null;
  }

  #report(field: readonly string[], problem: string): void {
    this.findings.push(this.#site.finding(field, `"${field.join('.')}" ${problem}`));
  }
}
