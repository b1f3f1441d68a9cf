/** The mailbox behind an e-mail address: providers deliver many spellings of an address to one person. */

/** How a provider reads the addresses of its customers. */
interface ProviderRule {
  /** The domains that share their mailboxes; the first stands for all. */
  readonly domains: readonly string[];
  /** The characters after which the provider ignores the rest of the name. */
  readonly tags: string;
  /** The spelling that stands for all spellings of a name. */
  readonly spell: (name: string) => string;
  /** Whether `anything@name.example.com` is delivered to `name@example.com`. */
  readonly hasSubdomains?: true;
}

/** Outlook, and every provider without a rule: a plus sign starts the part that the provider ignores (RFC 5233). */
const USUAL = { tags: '+', spell: (name: string) => name } as const;

const RULES: readonly ProviderRule[] = [
  // https://support.google.com/mail/answer/7436150
  { ...USUAL, domains: ['gmail.com', 'googlemail.com'], spell: (name) => name.replaceAll('.', '') },
  // https://support.apple.com/en-us/102540
  { ...USUAL, domains: ['icloud.com', 'me.com', 'mac.com'] },
  // https://proton.me/support/addresses-and-aliases
  {
    ...USUAL,
    domains: ['proton.me', 'protonmail.com', 'protonmail.ch', 'pm.me'],
    spell: (name) => name.replaceAll(/[._-]/g, ''),
  },
  // https://www.fastmail.help/hc/en-us/articles/360060591053
  { ...USUAL, domains: ['fastmail.com'], hasSubdomains: true },
  { ...USUAL, domains: ['fastmail.fm'], hasSubdomains: true },
  // A dot is a hyphen: https://yandex.com/support/id/authorization/login.html
  {
    ...USUAL,
    domains: ['yandex.ru', 'ya.ru', 'yandex.com', 'yandex.by', 'yandex.kz', 'yandex.ua'],
    spell: (name) => name.replaceAll('.', '-'),
  },
  // Temporary addresses have a name, a hyphen and a keyword: https://help.yahoo.com/kb/SLN16026.html
  ...['yahoo.com', 'ymail.com', 'rocketmail.com', 'yahoo.co.uk', 'yahoo.co.jp', 'yahoo.de', 'yahoo.fr', 'yahoo.it'].map(
    (domain) => ({ ...USUAL, domains: [domain], tags: '+-' }),
  ),
];

/**
 * Returns the address that stands for all spellings of a mailbox.
 *
 * @param email an address that `isEmailAddress` accepts
 */
export function normalAddress(email: string): string {
  const [name = '', domain = ''] = email.toLowerCase().split('@');
  const rule = RULES.find(({ domains }) => domains.includes(domain));
  if (rule) return `${normalName(name, rule)}@${rule.domains[0]}`;
  for (const parent of RULES) {
    const [host = ''] = parent.domains;
    if (!parent.hasSubdomains || !domain.endsWith(`.${host}`)) continue;
    const mailbox =
      domain
        .slice(0, -host.length - 1)
        .split('.')
        .at(-1) ?? '';
    return `${normalName(mailbox, parent)}@${host}`;
  }
  return `${normalName(name, USUAL)}@${domain}`;
}

function normalName(name: string, { tags, spell }: Pick<ProviderRule, 'tags' | 'spell'>): string {
  const end = Array.from(name).findIndex((character) => tags.includes(character));
  // A name of nothing but a tag or ignored characters is no mailbox, and stays as it is.
  return spell(end < 0 ? name : name.slice(0, end)) || name;
}

/** The domain of an address, in lower case. */
export function domainOf(email: string): string {
  return email.slice(email.lastIndexOf('@') + 1).toLowerCase();
}

/** A domain and its parents, from the longest to the shortest: `mail.example.com`, `example.com`, `com`. */
export function parentDomains(domain: string): readonly string[] {
  const labels = domain.split('.');
  return labels.map((_, start) => labels.slice(start).join('.'));
}

/** Whether one of the domains is the domain or a parent of it: `example.com` covers `mail.example.com`. */
export function isDomainIn(domain: string, domains: { readonly has: (domain: string) => boolean }): boolean {
  return parentDomains(domain).some((each) => domains.has(each));
}
