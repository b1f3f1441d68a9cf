/** The page of an account, in tabs. Each tab has an address of its own, and the forms about its subject. */
import type { Child } from 'hono/jsx';
import type { ApiServices } from '../../../../api/services.ts';
import type { StaffPermission } from '../../../../domain/roles.ts';
import { existingAccount } from '../../../../services/people/existing-account.ts';
import { hasPermission, type PageResult, showPage, type UserVisit } from '../../../page.ts';
import type { Texts } from '../../../texts/texts.ts';
import {
  showActions,
  showDanger,
  showDetails,
  showKeys,
  showMembers,
  showMoney,
  type Shown,
  showOverview,
} from './tabs.tsx';

interface Tab {
  readonly permission: StaffPermission;
  readonly label: (texts: Texts) => string;
  readonly contentOf: (shown: Shown) => Child | Promise<Child>;
}

export const ACCOUNT_TABS = ['overview', 'keys', 'members', 'actions', 'details', 'money', 'danger'] as const;
export type AccountTab = (typeof ACCOUNT_TABS)[number];

const TABS: Readonly<Record<AccountTab, Tab>> = {
  overview: { permission: 'read', label: (texts) => texts.staffAccounts.tabs.overview, contentOf: showOverview },
  keys: { permission: 'read', label: (texts) => texts.titles.keys, contentOf: showKeys },
  members: { permission: 'read', label: (texts) => texts.titles.members, contentOf: showMembers },
  actions: { permission: 'read', label: (texts) => texts.staffAccounts.actions, contentOf: showActions },
  details: { permission: 'operate', label: (texts) => texts.staffAccounts.edit, contentOf: showDetails },
  money: { permission: 'moveMoney', label: (texts) => texts.staffAccounts.tabs.money, contentOf: showMoney },
  danger: { permission: 'operate', label: (texts) => texts.staffAccounts.tabs.danger, contentOf: showDanger },
};

/** @param name the tab; by default the tab in the query, or the overview if the reader may not see that tab */
export async function showAccount(
  visit: UserVisit,
  services: ApiServices,
  name: AccountTab = tabIn(visit),
): Promise<PageResult> {
  const account = await existingAccount(services.database, visit.params['account_id'] ?? '');
  return showPage(
    account.name,
    <Tabs current={name} visit={visit} />,
    await TABS[name].contentOf({ account, visit, services }),
  );
}

function tabIn(visit: UserVisit): AccountTab {
  const asked = visit.query.get('tab');
  return ACCOUNT_TABS.find((name) => name === asked && hasPermission(visit, TABS[name].permission)) ?? 'overview';
}

function Tabs({ current, visit }: { current: AccountTab; visit: UserVisit }) {
  const { texts, path } = visit;
  return (
    <nav class="choices" aria-label={texts.fields.account_id}>
      {ACCOUNT_TABS.filter((name) => hasPermission(visit, TABS[name].permission)).map((name) => (
        <a
          href={name === 'overview' ? path : `${path}?tab=${name}`}
          {...(name === current && { 'aria-current': 'page' })}
        >
          {TABS[name].label(texts)}
        </a>
      ))}
    </nav>
  );
}
