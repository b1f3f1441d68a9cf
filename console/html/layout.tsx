/** The frame around every page. */

import type { Child } from 'hono/jsx';
import { renderToString } from 'hono/jsx/dom/server';
import type { Membership, User } from '../../db/queries/users.ts';
import { mayAsMember, type MemberPermission } from '../../domain/roles.ts';
import type { Texts } from '../texts/texts.ts';
import { Form, Problem } from './components.tsx';
import { CurrentPage, type PageContext, usePage, useTexts } from './page-context.ts';

const HTMX_SETTINGS = JSON.stringify({ includeIndicatorStyles: false, allowEval: false, selfRequestsOnly: true });

interface Frame {
  readonly title: string;
  readonly content: Child;
  /** Null for strangers. */
  readonly signedIn: SignedIn | null;
  /** Whether a form was carried out just before. */
  readonly isSaved: boolean;
}

export interface SignedIn {
  readonly user: User;
  readonly memberships: readonly Membership[];
  /** The account of the page. A page without an account shows the user's first account. */
  readonly account: Membership | null;
  readonly current: string | undefined;
}

type StaffEntry = keyof Texts['staffNavigation']['entries'];
type Entry =
  | 'home'
  | 'playground'
  | 'models'
  | 'tasks'
  | 'keys'
  | 'usage'
  | 'endUsers'
  | 'billing'
  | 'files'
  | 'members'
  | 'webhooks';

/** The pages of an account, and the permission that each needs. */
const ACCOUNT_ENTRIES: readonly {
  readonly name: Entry;
  readonly path: string;
  readonly permission?: MemberPermission;
}[] = [
  { name: 'home', path: '' },
  { name: 'playground', path: '/playground', permission: 'develop' },
  { name: 'models', path: '/models' },
  { name: 'tasks', path: '/tasks' },
  { name: 'keys', path: '/keys', permission: 'develop' },
  { name: 'files', path: '/files', permission: 'develop' },
  { name: 'webhooks', path: '/webhooks', permission: 'develop' },
  { name: 'usage', path: '/usage' },
  { name: 'endUsers', path: '/end-users' },
  { name: 'billing', path: '/billing', permission: 'pay' },
  { name: 'members', path: '/members', permission: 'own' },
];

/** The pages for all operators. */
const STAFF_ENTRIES: readonly {
  readonly name: StaffEntry;
  readonly path: string;
}[] = [
  { name: 'live', path: '/live' },
  { name: 'accounts', path: '/accounts' },
  { name: 'allTasks', path: '/tasks' },
  { name: 'textRequests', path: '/text-requests' },
  { name: 'upstreams', path: '/upstreams' },
  { name: 'models', path: '/models' },
  { name: 'priceLists', path: '/price-lists' },
  { name: 'failingWebhooks', path: '/webhooks' },
  { name: 'months', path: '/months' },
  { name: 'refunds', path: '/refunds' },
  { name: 'reconciliation', path: '/reconciliations' },
  { name: 'corrections', path: '/corrections' },
];

export function renderPage(frame: Frame, page: PageContext): string {
  return `<!doctype html>${renderPart(<Document {...frame} />, page)}`;
}

export function renderPart(content: Child, page: PageContext): string {
  return renderToString(<CurrentPage.Provider value={page}>{content}</CurrentPage.Provider>);
}

function Document({ title, content, signedIn, isSaved }: Frame) {
  const { texts, problem } = usePage();
  return (
    <html lang={texts.language}>
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="htmx-config" content={HTMX_SETTINGS} />
        <meta name="color-scheme" content="light dark" />
        <title>{`${title} · ${texts.product}`}</title>
        <link rel="icon" href="/console/assets/icon.svg" type="image/svg+xml" />
        <link rel="stylesheet" href="/console/assets/console.css" />
        <script src="/console/assets/htmx.js" defer></script>
        <script src="/console/assets/console.js" defer></script>
      </head>
      <body>
        <a class="skip" href="#content">
          {texts.navigation.skip}
        </a>
        {signedIn === null ? null : <Navigation signedIn={signedIn} />}
        <main id="content" class={signedIn === null ? 'stranger' : ''} tabIndex={-1}>
          <h1>{title}</h1>
          {isSaved ? (
            <p class="saved" role="status">
              {texts.common.saved}
            </p>
          ) : null}
          <Problem of={problem} />
          {content}
        </main>
      </body>
    </html>
  );
}

function Navigation({ signedIn }: { readonly signedIn: SignedIn }) {
  const texts = useTexts();
  const { user, account, memberships, current } = signedIn;
  const { navigation: words, staffNavigation: staffWords } = texts;
  return (
    <header class="side">
      <a class="brand" href="/console">
        {texts.product}
      </a>
      <Form action="/console/search" class="search" role="search">
        <input
          type="search"
          name="text"
          aria-label={words.search}
          placeholder={words.searchHint}
          autocomplete="off"
          spellcheck={false}
          maxlength={200}
          required
          data-search
        />
      </Form>
      <details class="menu" open>
        <summary>{words.menu}</summary>
        <nav aria-label={words.label}>
          {user.staffRole === null ? null : (
            <Entries
              title={staffWords.title}
              path="/console/staff"
              entries={STAFF_ENTRIES.map((entry) => ({ ...entry, words: staffWords.entries[entry.name] }))}
              current={current}
            />
          )}
          {account === null ? null : <AccountEntries account={account} current={current} />}
          {memberships.length < 2 ? null : (
            <>
              <h2>{words.accounts}</h2>
              <ul>
                {memberships.map(({ accountId, accountName }) => (
                  <li>
                    <a
                      href={`/console/accounts/${accountId}`}
                      {...(accountId === account?.accountId ? { 'aria-current': 'true' } : {})}
                    >
                      {accountName}
                    </a>
                  </li>
                ))}
              </ul>
            </>
          )}
        </nav>
        <div class="who">
          <a href="/console/profile">{user.name}</a>
          <Form action="/console/sign-out">
            <button type="submit" class="quiet">
              {words.signOut}
            </button>
          </Form>
        </div>
      </details>
    </header>
  );
}

function AccountEntries({
  account: { accountId, accountName, role },
  current,
}: {
  readonly account: Membership;
  readonly current: string | undefined;
}) {
  const { navigation: words } = useTexts();
  const mine = ACCOUNT_ENTRIES.filter(({ permission = 'see' }) => mayAsMember(role, permission));
  const entries = mine.map(({ name, path }) => ({ name, path, words: words[name] }));
  return <Entries title={accountName} path={`/console/accounts/${accountId}`} entries={entries} current={current} />;
}

function Entries({
  title,
  path: parent,
  entries,
  current,
}: {
  readonly title: string;
  readonly path: string;
  readonly entries: readonly { readonly name: string; readonly path: string; readonly words: string }[];
  readonly current: string | undefined;
}) {
  return (
    <>
      <h2>{title}</h2>
      <ul>
        {entries.map(({ name, path, words }) => (
          <li>
            <a href={`${parent}${path}`} {...(name === current ? { 'aria-current': 'page' } : {})}>
              {words}
            </a>
          </li>
        ))}
      </ul>
    </>
  );
}
