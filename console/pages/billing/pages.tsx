/** Balance, ledger, statements and top-ups of an account. */
import type { Child } from 'hono/jsx';
import { CREDITED_TOP_UP } from '../../../services/resources/credit.ts';
import { updateBalanceSchema } from '../../../services/input/balance.ts';
import { redeemSchema } from '../../../services/input/gift-codes.ts';
import { confirmAutoTopUp, openAutoTopUp } from '../../../services/money/auto-top-ups.ts';
import { redeemGiftCode } from '../../../services/money/gift-codes.ts';
import { findCheckoutUrl, openCheckout } from '../../../services/money/checkout.ts';
import { openPlanPayments } from '../../../services/money/plans.ts';
import { existingAccount } from '../../../services/people/existing-account.ts';
import type { ApiServices } from '../../../api/services.ts';
import { createValidator } from '../../../services/input/validation.ts';
import type { Account } from '../../../db/queries/accounts.ts';
import { listBalanceEntries } from '../../../db/queries/balance-entries.ts';
import { listDocuments } from '../../../db/queries/billing-documents.ts';
import { type CreditedTopUp, listTopUps } from '../../../db/queries/credits.ts';
import { deleteAutoTopUp, findAutoTopUp } from '../../../db/queries/auto-top-ups.ts';
import { findAccountPlan } from '../../../db/queries/plans.ts';
import { setLowBalance } from '../../../db/queries/low-balances.ts';
import { sumPromoCredit } from '../../../db/queries/promo-grants.ts';
import { ServiceError } from '../../../domain/errors.ts';
import { formatDollars, formatUsd, parseUsd, type PicoUsd } from '../../../domain/money.ts';
import { CHECKOUT } from '../../../domain/policy.ts';
import { Card, ExactMoney, Facts, Field, Form, Headline, Pages } from '../../html/components.tsx';
import { monthName } from '../../html/months.ts';
import { InOtherCurrency } from '../../html/other-currency.tsx';
import { ResourceTable } from '../../html/resource-table.tsx';
import { readListPage } from '../../list-page.ts';
import { FormError } from '../../form-problem.ts';
import { member, type MemberVisit, type PageResult, showPage } from '../../page.ts';
import type { StoredFields } from '../../stored-fields.ts';
import { listOwnMonths } from '../own-account.ts';
import { saveAccountIfUnchanged } from '../save-account.ts';
import { AddFunds, AutomaticTopUp } from './add-funds.tsx';
import { Entries, ledgerPages, pagesOfMember } from './ledger.tsx';
import { changeBillingDetails, documentPages, DocumentsCard } from './documents.tsx';
import { choosePlanBy, endPlanBy, PlanCard } from './plan.tsx';
import { statementPages } from './statements.tsx';
import { useTexts } from '../../html/page-context.ts';

/** The length of each list on the first page. */
const LATEST = 10;
const LATEST_MONTHS = 12;

const page = member.page('/accounts/{account_id}/billing', 'pay', showOverview);

export const billingPages = [
  page,
  member.page(
    '/accounts/{account_id}/billing/top-ups',
    'pay',
    async ({ account: { accountId }, query, texts }, { reports }) => {
      const { entries: topUps, next } = await readListPage(query, 'transfer', async (slice) => {
        const found = await listTopUps(reports, { accountId, ...slice });
        return found.map((topUp) => ({ ...topUp, id: topUp.transferId }));
      });
      return showPage(
        texts.billing.topUps,
        <Card>
          <TopUps topUps={topUps} />
          <Pages next={next} />
        </Card>,
      );
    },
  ),
  member.page('/accounts/{account_id}/billing/statements', 'pay', async (visit, services) => {
    const months = await listOwnMonths(visit, services);
    return showPage(
      visit.texts.billing.statements,
      <Card>
        <Months months={months} visit={visit} />
      </Card>,
    );
  }),
  page.form('/low-balance', 'pay', (visit, { database }) =>
    saveAccountIfUnchanged(visit, database, lowBalanceFields, (transaction, { id }) => {
      const { low_balance_usd: usd } = readThreshold({ low_balance_usd: visit.form.optional('low_balance_usd') });
      return setLowBalance(transaction, id, usd === null ? null : parseUsd(usd));
    }),
  ),
  page.form('/details', 'pay', changeBillingDetails),
  page.form('/codes', 'pay', redeem, (_visit, amount) => `redeemed:${amount}`),
  page.form(
    '/checkout',
    'pay',
    (visit, services) => {
      const { account, site, texts } = visit;
      const { methods } = site.payments;
      const order = {
        accountId: account.accountId,
        amount: paidAmount(visit),
        description: texts.billing.credit,
        methods,
      };
      return openCheckout(services, order).catch((error: unknown) => refuseOutage(error, visit));
    },
    checkoutPath,
  ),
  page.form(
    '/automatic',
    'pay',
    (visit, services) => {
      const [threshold, amount] = [paidAmount(visit, 'threshold_usd'), paidAmount(visit)];
      const { accountId } = visit.account;
      const opened = openAutoTopUp(services, { accountId, threshold, amount });
      return opened.catch((error: unknown) => refuseOutage(error, visit));
    },
    checkoutPath,
  ),
  page.form(
    '/plan',
    'pay',
    (visit, services) => choosePlanBy(visit, services).catch((error: unknown) => refuseOutage(error, visit)),
    (visit, id) => (id === null ? 'saved' : checkoutPath(visit, id)),
  ),
  page.form('/plan/end', 'pay', (visit, services) =>
    endPlanBy(visit, services).catch((error: unknown) => refuseOutage(error, visit)),
  ),
  member.page('/accounts/{account_id}/billing/plan/payments', 'pay', async (visit, services) => {
    const { accountId } = visit.account;
    const url = await openPlanPayments(services, accountId);
    return url === null ? { kind: 'redirect', path: `/accounts/${accountId}/billing` } : { kind: 'leave', url };
  }),
  member.page('/accounts/{account_id}/billing/automatic/{checkout_id}', 'pay', async (visit, services) => {
    const { accountId } = visit.account;
    await confirmAutoTopUp(services, accountId, visit.params['checkout_id'] ?? '');
    return { kind: 'redirect', path: `/accounts/${accountId}/billing` };
  }),
  page.form(
    '/automatic/stop',
    'pay',
    ({ account }, { database }) => deleteAutoTopUp(database, account.accountId),
    'stopped',
  ),
  member.page('/accounts/{account_id}/billing/checkout/{checkout_id}', 'pay', async (visit, services) => {
    const { accountId } = visit.account;
    const url = await findCheckoutUrl(services, accountId, visit.params['checkout_id'] ?? '');
    return url === null ? { kind: 'redirect', path: `/accounts/${accountId}/billing` } : { kind: 'leave', url };
  }),
  ...documentPages,
  ...statementPages,
  ...ledgerPages,
];

/** @returns the amount @throws FormError if no code can be redeemed now; ServiceError `not_found` for a wrong code */
async function redeem({ account, user, form, ip, texts }: MemberVisit, { database }: ApiServices): Promise<PicoUsd> {
  const { accountId, isSuspended } = account;
  const { giftCodes: messages } = texts;
  if (isSuspended) throw new FormError(messages.suspended, { code: 'forbidden' });
  const { code } = readCode({ code: form.text('code') });
  const redeemer = { accountId, email: user.email, ip };
  const { amount } = await redeemGiftCode(database, code, redeemer).catch((error: unknown) => {
    if (!(error instanceof ServiceError)) throw error;
    if (error.code === 'rate_limit_exceeded') throw new FormError(messages.tooMany, { code: error.code });
    throw error.code === 'forbidden' ? new FormError(messages.onlyOne, { code: error.code }) : error;
  });
  return amount;
}

/** @throws FormError if the payment provider is unavailable, and any other error unchanged */
function refuseOutage(error: unknown, { texts }: MemberVisit): never {
  const isUnavailable = error instanceof ServiceError && error.code === 'processing_unavailable';
  throw isUnavailable ? new FormError(texts.billing.providerAway, { code: error.code }) : error;
}

function checkoutPath({ account }: MemberVisit, id: string): string {
  return `/accounts/${account.accountId}/billing/checkout/${id}`;
}

/** @throws FormError unless the field is an amount in whole cents within the limits of a payment */
function paidAmount({ form, site, texts }: MemberVisit, field: 'amount_usd' | 'threshold_usd' = 'amount_usd'): PicoUsd {
  const sent = form.text(field);
  const { maxUsd } = CHECKOUT;
  const minUsd = field === 'amount_usd' ? site.payments.minUsd : CHECKOUT.minUsd;
  const usd = /^\d{1,6}(\.\d{1,2})?$/.test(sent) ? Number(sent) : 0;
  if (usd < minUsd || usd > maxUsd) {
    throw new FormError(texts.billing.amountBetween(minUsd, maxUsd), { field });
  }
  return parseUsd(sent);
}

function lowBalanceFields({ lowBalance }: Account): StoredFields {
  return { low_balance_usd: lowBalance === null ? null : formatUsd(lowBalance) };
}

const readThreshold = createValidator(updateBalanceSchema);
const readCode = createValidator(redeemSchema);

async function showOverview(visit: MemberVisit, services: ApiServices): Promise<PageResult> {
  const { account, texts } = visit;
  const { accountId } = account;
  const { database, reports } = services;
  const { topUpUrl, checkout } = services.money;
  const { billing: messages } = texts;
  const path = `/console/accounts/${accountId}/billing`;
  const [found, promo, months, topUps, entries, automatic, documents, plan] = await Promise.all([
    existingAccount(database, accountId),
    sumPromoCredit(database, accountId),
    listOwnMonths(visit, services),
    listTopUps(database, { accountId, limit: LATEST }),
    listBalanceEntries(reports, { accountId, limit: LATEST }),
    findAutoTopUp(database, accountId),
    listDocuments(database, { accountId, limit: LATEST }),
    findAccountPlan(database, accountId),
  ]);
  return showPage(
    texts.titles.billing,
    <Balance account={found} promo={promo}>
      <AddFunds account={account} services={services} withForm />
      {topUpUrl === null && checkout === null ? <p class="soft">{messages.noAddFunds}</p> : null}
      <Form action={`${path}/low-balance`} submit={texts.common.save} look="quiet" stored={lowBalanceFields(found)}>
        <Field name="low_balance_usd" hint={messages.lowBalanceHint} inputMode="decimal" />
      </Form>
    </Balance>,
    checkout === null ? null : <PlanCard plan={plan} site={services.site} path={path} />,
    <div class="grid">
      <Card title={messages.topUps} wide>
        <TopUps topUps={topUps} />
        {topUps.length < LATEST ? null : <a href={`${path}/top-ups`}>{messages.allTopUps}</a>}
      </Card>
      <Card title={texts.giftCodes.own}>
        <Form action={`${path}/codes`} submit={texts.giftCodes.redeem} look="quiet">
          <Field name="code" hint={texts.giftCodes.ownHint} autocomplete="off" required />
        </Form>
      </Card>
      {checkout === null ? null : <AutomaticTopUp accountId={accountId} agreed={automatic} />}
      <Card title={messages.statements}>
        <Months months={months.slice(0, LATEST_MONTHS)} visit={visit} />
        {months.length <= LATEST_MONTHS ? null : <a href={`${path}/statements`}>{messages.allMonths}</a>}
      </Card>
    </div>,
    <DocumentsCard account={found} documents={documents} />,
    <Card title={messages.ledger}>
      <Entries entries={entries} pageOf={pagesOfMember(accountId)} />
      <p class="pages">
        <a href={`${path}/ledger`}>{messages.wholeLedger}</a>
      </p>
    </Card>,
  );
}

function Balance({
  account: { fundedAvailable, signupAvailable, fundedReserved, signupReserved },
  promo,
  children,
}: {
  readonly account: Account;
  readonly promo: Awaited<ReturnType<typeof sumPromoCredit>>;
  readonly children: Child;
}) {
  const { billing: messages, common } = useTexts();
  return (
    <div class="grid">
      <Card title={common.balance}>
        <Headline amount={fundedAvailable + signupAvailable} />
        <InOtherCurrency amount={fundedAvailable + signupAvailable} />
        {children}
      </Card>
      <Card title={messages.parts}>
        <Facts
          facts={[
            [messages.paid, <ExactMoney amount={fundedAvailable} />],
            [
              messages.granted,
              <>
                <ExactMoney amount={signupAvailable} /> <p class="hint">{messages.grantedHint}</p>
                {promo.nextExpiry === null ? null : (
                  <p class="hint">
                    {messages.promo(formatDollars(promo.available), promo.nextExpiry.toISOString().slice(0, 10))}
                  </p>
                )}
              </>,
            ],
            [
              messages.held,
              <>
                <ExactMoney amount={fundedReserved + signupReserved} /> <p class="hint">{messages.heldHint}</p>
              </>,
            ],
          ]}
        />
      </Card>
    </div>
  );
}

function TopUps({ topUps }: { topUps: readonly CreditedTopUp[] }) {
  const { billing: messages, fields, common } = useTexts();
  return (
    <ResourceTable
      of={CREDITED_TOP_UP}
      label={messages.topUps}
      rows={topUps}
      none={messages.noTopUps}
      columns={[
        [common.when, 'created_at'],
        'amount_usd',
        [fields.reference, ({ reference }) => <span class="narrow">{reference}</span>],
      ]}
    />
  );
}

function Months({ months, visit }: { months: readonly string[]; visit: MemberVisit }) {
  const path = `/console/accounts/${visit.account.accountId}/billing/statements`;
  return (
    <ul class="plain">
      {months.map((month) => (
        <li>
          <a href={`${path}/${month}`}>{monthName(month, visit.texts.language)}</a>
        </li>
      ))}
    </ul>
  );
}
