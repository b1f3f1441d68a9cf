/** The frame around every page. */

import type { Child } from 'hono/jsx';
import { renderToString } from 'hono/jsx/dom/server';
import type { Membership, User } from '../../db/queries/users.ts';
import { hasMemberPermission, type MemberPermission } from '../../domain/roles.ts';
import type { Texts } from '../texts/texts.ts';
import { Form, Problem, usd } from './components.tsx';
import { AnyId } from './linked-ids.tsx';
import { Icon, type IconName } from './icon.tsx';
import { type Done, type DrawnResult, partsOfDone, type Visit } from '../page.ts';
import { CurrentPage, usePage } from './page-context.ts';
import { Announcement, Brand, PageHead, SiteFooter } from './site.tsx';

const HTMX_SETTINGS = JSON.stringify({ includeIndicatorStyles: false, allowEval: false, selfRequestsOnly: true });

interface Frame {
  readonly title: string;
  readonly content: Child;
  /** Null for visitors without navigation. */
  readonly signedIn: SignedIn | null;
  /** What the form before the page did; null if the page follows no form. */
  readonly done: Done | null;
}

export interface SignedIn {
  readonly user: User;
  readonly memberships: readonly Membership[];
  /** The account of the page. A page without an account shows the user's first account. */
  readonly account: Membership | null;
}

interface Entry {
  readonly name: keyof Texts['titles'];
  readonly path: string;
  readonly icon: IconName;
}

/** Entries under a title; the first group has none. */
interface Group<Item> {
  readonly title: keyof Texts['navigation']['groups'] | null;
  readonly entries: readonly Item[];
}

interface AccountEntry extends Entry {
  /** The permission that the page needs; by default, every member sees the page. */
  readonly permission?: MemberPermission;
}

/** The pages of an account. */
const ACCOUNT_GROUPS: readonly Group<AccountEntry>[] = [
  {
    title: null,
    entries: [
      { name: 'home', path: '', icon: 'home' },
      { name: 'playground', path: '/playground', icon: 'play', permission: 'develop' },
      { name: 'models', path: '/models', icon: 'box' },
      { name: 'tasks', path: '/tasks', icon: 'list' },
      { name: 'textRequests', path: '/usage/requests', icon: 'speech' },
    ],
  },
  {
    title: 'programs',
    entries: [
      { name: 'keys', path: '/keys', icon: 'key', permission: 'develop' },
      { name: 'batches', path: '/batches', icon: 'stack', permission: 'develop' },
      { name: 'files', path: '/files', icon: 'file', permission: 'develop' },
      { name: 'webhooks', path: '/webhooks', icon: 'hook', permission: 'develop' },
    ],
  },
  {
    title: 'account',
    entries: [
      { name: 'usage', path: '/usage', icon: 'bars' },
      { name: 'endUsers', path: '/end-users', icon: 'face' },
      { name: 'budgets', path: '/budgets', icon: 'gauge' },
      { name: 'billing', path: '/billing', icon: 'card', permission: 'pay' },
      { name: 'members', path: '/members', icon: 'people', permission: 'own' },
    ],
  },
];

/** The pages for all operators. */
const STAFF_GROUPS: readonly Group<Entry>[] = [
  {
    title: null,
    entries: [
      { name: 'live', path: '/live', icon: 'pulse' },
      { name: 'accounts', path: '/accounts', icon: 'house' },
      { name: 'registrations', path: '/registrations', icon: 'people' },
      { name: 'allTasks', path: '/tasks', icon: 'list' },
      { name: 'textRequests', path: '/text-requests', icon: 'speech' },
      { name: 'allBatches', path: '/batches', icon: 'stack' },
      { name: 'failingWebhooks', path: '/webhooks', icon: 'hook' },
    ],
  },
  {
    title: 'offer',
    entries: [
      { name: 'upstreams', path: '/upstreams', icon: 'cloud' },
      { name: 'failures', path: '/failures', icon: 'alert' },
      { name: 'models', path: '/models', icon: 'box' },
      { name: 'priceLists', path: '/price-lists', icon: 'tag' },
      { name: 'actions', path: '/actions', icon: 'list' },
    ],
  },
  {
    title: 'money',
    entries: [
      { name: 'months', path: '/months', icon: 'calendar' },
      { name: 'refunds', path: '/refunds', icon: 'back' },
      { name: 'reconciliation', path: '/reconciliations', icon: 'check' },
      { name: 'corrections', path: '/corrections', icon: 'pencil' },
      { name: 'giftCodes', path: '/gift-codes', icon: 'gift' },
      { name: 'plans', path: '/plans', icon: 'card' },
    ],
  },
];

/** Draws the page of a visit: its content in the frame, or a part alone. */
export function render(result: DrawnResult, visit: Visit, frame: Pick<Frame, 'signedIn' | 'done'>): string {
  if (result.kind === 'part') return renderContent(result, visit);
  const { title, content } = result;
  const document = <Document title={title} content={content} {...frame} />;
  return `<!doctype html>${renderContent({ ...result, content: document }, visit)}`;
}

/** Draws the content of a page without the frame. */
export function renderContent(result: DrawnResult, visit: Visit): string {
  const { content, accountNames = new Map() } = result;
  const title = result.kind === 'page' ? result.title : '';
  return renderToString(
    <CurrentPage.Provider value={{ ...visit, title, accountNames }}>{content}</CurrentPage.Provider>,
  );
}

/** The pages below an account's page for operators, which name the customer. */
const PAGE_OF_CUSTOMER = /^\/console\/staff\/accounts\/(acc_[0-9a-z]{32})\/./;

function Document({ title, content, signedIn, done }: Frame) {
  const { texts, problem, path, site } = usePage();
  const customer = PAGE_OF_CUSTOMER.exec(path)?.[1];
  return (
    <html lang={texts.language}>
      <head>
        <PageHead title={title} site={site} texts={texts} />
        <meta name="htmx-config" content={HTMX_SETTINGS} />
        <script src="/console/assets/htmx.js" defer></script>
        <script src="/console/assets/console.js" defer></script>
      </head>
      <body>
        <a class="skip" href="#content">
          {texts.navigation.skip}
        </a>
        {signedIn === null ? null : <Navigation signedIn={signedIn} />}
        {signedIn === null ? (
          <header class="masthead">
            <Brand site={site} texts={texts} href="/console" />
          </header>
        ) : null}
        <main id="content" class={signedIn === null ? 'stranger' : ''} tabIndex={-1}>
          <Announcement site={site} texts={texts} />
          {customer === undefined ? null : (
            <p class="soft">
              <AnyId id={customer} />
            </p>
          )}
          <h1>{title}</h1>
          {done === null ? null : (
            <p class="done" role="status">
              {doneText(done, texts)}
            </p>
          )}
          {signedIn?.account?.isSuspended && path.startsWith('/console/accounts/') ? (
            <p class="problem" role="note">
              {signedIn.account.mergedInto === null ? (
                texts.errors.suspended
              ) : (
                <>
                  {texts.errors.merged} <AnyId id={signedIn.account.mergedInto} />
                </>
              )}
            </p>
          ) : null}
          <Problem of={problem} />
          {content}
        </main>
        {signedIn === null ? <SiteFooter site={site} texts={texts} /> : null}
      </body>
    </html>
  );
}

/** What a form did, in the language of the reader. */
export function doneText(done: Done, texts: Texts): string {
  const { name, amount } = partsOfDone(done);
  return texts.done[name].replace('{usd}', usd(amount));
}

function Navigation({ signedIn }: { signedIn: SignedIn }) {
  const { texts, site } = usePage();
  const { user, account, memberships } = signedIn;
  const { navigation: messages } = texts;
  return (
    <header class="side">
      <Brand site={site} texts={texts} href="/console" />
      <Form action="/console/search" class="search" role="search">
        <input
          type="search"
          name="text"
          aria-label={messages.search}
          placeholder={messages.searchHint}
          autocomplete="off"
          spellcheck={false}
          maxlength={200}
          required
          data-search
        />
      </Form>
      <details class="menu" open>
        <summary>{messages.menu}</summary>
        <nav aria-label={messages.label}>
          {user.staffRole === null ? null : (
            <Groups title={messages.staff} path="/console/staff" groups={STAFF_GROUPS} />
          )}
          {account === null ? null : <AccountEntries {...account} />}
          {memberships.length < 2 ? null : (
            <>
              <h2>{messages.accounts}</h2>
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
          <Form action="/console/sign-out" submit={messages.signOut} look="quiet" />
        </div>
      </details>
    </header>
  );
}

function AccountEntries({ accountId, accountName, role }: Membership) {
  const groups = ACCOUNT_GROUPS.map((group) => ({
    ...group,
    entries: group.entries.filter(({ permission = 'see' }) => hasMemberPermission(role, permission)),
  }));
  return <Groups title={accountName} path={`/console/accounts/${accountId}`} groups={groups} />;
}

interface GroupsProps {
  readonly title: string;
  readonly path: string;
  readonly groups: readonly Group<Entry>[];
}

function Groups({ title, path: parent, groups }: GroupsProps) {
  const { texts, path: shown } = usePage();
  const { navigation, titles } = texts;
  const paths = groups.flatMap(({ entries }) => entries.map(({ path }) => path));
  const current = currentOf(paths, shown.startsWith(parent) ? shown.slice(parent.length) : null);
  return (
    <>
      <h2>{title}</h2>
      {groups.map((group) =>
        group.entries.length === 0 ? null : (
          <>
            {group.title === null ? null : <h3>{navigation.groups[group.title]}</h3>}
            <ul>
              {group.entries.map(({ name, path, icon }) => (
                <li>
                  <a href={`${parent}${path}`} {...(path === current && { 'aria-current': 'page' })}>
                    <Icon name={icon} />
                    {titles[name]}
                  </a>
                </li>
              ))}
            </ul>
          </>
        ),
      )}
    </>
  );
}

/** The entry of the navigation to which a page belongs: the longest path with which the page's path starts. */
function currentOf(entries: readonly string[], shown: string | null): string | undefined {
  if (shown === null) return undefined;
  const path = shown.replace(/^\/people\b/, '/accounts');
  return entries
    .filter((entry) => path === entry || (entry !== '' && path.startsWith(`${entry}/`)))
    .toSorted((one, other) => other.length - one.length)[0];
}
