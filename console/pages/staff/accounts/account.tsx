/** An account: what it has, who belongs to it, and what may be done about it. */
import type { Account } from '../../../../db/queries/accounts.ts';
import type { ApiKey } from '../../../../db/queries/api-keys.ts';
import type { AccountAction } from '../../../../db/queries/operator-actions.ts';
import type { Member } from '../../../../db/queries/users.ts';
import type { ServiceError } from '../../../../domain/errors.ts';
import type { Task } from '../../../../domain/task.ts';
import {
  Badge,
  Card,
  Copyable,
  Empty,
  Field,
  Form,
  Money,
  Problem,
  Table,
  Time,
  usd,
} from '../../../html/components.tsx';
import { FINANCE, OPERATORS, type UserVisit } from '../../../page.ts';
import { may } from '../may.ts';
import { TaskTable } from '../tasks/list.tsx';
import { AccountState } from './search.tsx';

/** A form that could not be carried out, and why. */
export interface ShownForm {
  readonly about: 'state' | 'adjustment';
  readonly problem: ServiceError;
}

interface Props {
  readonly account: Account;
  readonly keys: readonly ApiKey[];
  readonly members: readonly Member[];
  readonly tasks: readonly Task[];
  readonly actions: readonly AccountAction[];
  readonly form: Partial<ShownForm> & { readonly adjustmentId: string };
  readonly visit: UserVisit;
}

export function AccountContent(props: Props) {
  const { account, members, tasks, actions, visit } = props;
  const { texts } = visit;
  const words = texts.staffAccounts;
  return (
    <>
      <div class="grid">
        <Card title={words.balance}>
          <p class="big">
            <Money amount={account.fundedAvailable + account.signupAvailable} />
          </p>
          <p class="soft">{texts.home.held(usd(account.fundedReserved + account.signupReserved))}</p>
          {account.signupAvailable > 0n ? <p class="soft">{texts.home.signup(usd(account.signupAvailable))}</p> : null}
        </Card>
        <Card title={words.details}>
          <Details account={account} texts={texts} />
        </Card>
      </div>
      <div class="grid forms">
        {may(visit, OPERATORS) ? <StateForm {...props} /> : null}
        {may(visit, FINANCE) ? <AdjustmentForm {...props} /> : null}
      </div>
      <Card title={texts.keys.title}>
        <Keys {...props} mayChange={may(visit, OPERATORS)} />
      </Card>
      <Card title={words.latestTasks}>
        {tasks.length === 0 ? (
          <Empty>{words.noTasks}</Empty>
        ) : (
          <>
            <TaskTable tasks={tasks} texts={texts} hasAccounts={false} />
            <p>
              <a href={`/console/staff/tasks?account=${account.id}`}>{words.allTasks}</a>
            </p>
          </>
        )}
      </Card>
      <Card title={words.members}>
        <Members members={members} texts={texts} />
      </Card>
      <Card title={words.actions}>
        <Actions actions={actions} texts={texts} />
      </Card>
    </>
  );
}

type Texts = UserVisit['texts'];

function Details({ account, texts }: { readonly account: Account; readonly texts: Texts }) {
  const { staffAccounts: words, common } = texts;
  return (
    <dl>
      <dt>{common.status}</dt>
      <dd>
        <AccountState account={account} texts={texts} />{' '}
        {account.suspendedAt === null ? null : <Time at={account.suspendedAt} />}
      </dd>
      <dt>{words.email}</dt>
      <dd>{account.email ?? words.notGiven}</dd>
      <dt>{words.externalId}</dt>
      <dd>{account.externalId ?? words.notGiven}</dd>
      <dt>{words.concurrentTasks}</dt>
      <dd>{account.maxConcurrentTasks ?? words.asAll}</dd>
      <dt>{words.toppedUp}</dt>
      <dd>{account.toppedUpAt === null ? words.never : <Time at={account.toppedUpAt} />}</dd>
      <dt>{common.created}</dt>
      <dd>
        <Time at={account.createdAt} />
      </dd>
      <dt>{words.id}</dt>
      <dd>
        <Copyable text={account.id} texts={texts} label={words.id} />
      </dd>
    </dl>
  );
}

function StateForm({ account, form, visit: { texts, session } }: Props) {
  const { staffAccounts: words, staff } = texts;
  const isOpen = account.suspendedAt === null;
  return (
    <Card title={isOpen ? words.suspend : words.reopen}>
      <Problem message={form.about === 'state' ? (form.problem?.message ?? null) : null} />
      <p class="soft">{isOpen ? words.suspendHint : words.reopenHint}</p>
      <Form token={session.formToken} action={`/console/staff/accounts/${account.id}/${isOpen ? 'suspend' : 'reopen'}`}>
        <Field name="reason" id="state-reason" label={staff.reason} required />
        <button type="submit" class={isOpen ? 'danger' : ''}>
          {isOpen ? words.suspend : words.reopen}
        </button>
      </Form>
    </Card>
  );
}

function AdjustmentForm({ account, form, visit }: Props) {
  const { texts, session } = visit;
  const { staffAccounts: words, staff } = texts;
  const isAgain = form.about === 'adjustment';
  return (
    <Card title={words.adjust}>
      <Problem message={isAgain ? (form.problem?.message ?? null) : null} />
      <Form token={session.formToken} action={`/console/staff/accounts/${account.id}/adjust`}>
        <input type="hidden" name="adjustment_id" value={form.adjustmentId} />
        <Field
          name="amount_usd"
          label={words.amount}
          hint={words.amountHint}
          inputMode="text"
          value={isAgain ? visit.form.text('amount_usd') : ''}
          required
        />
        <Field
          name="reason"
          id="adjustment-reason"
          label={staff.reason}
          value={isAgain ? visit.form.text('reason') : ''}
          required
        />
        <button type="submit">{words.adjust}</button>
      </Form>
    </Card>
  );
}

function Keys({ account, keys, visit: { texts, session }, mayChange }: Props & { readonly mayChange: boolean }) {
  const { staffAccounts: words, keys: keyWords, common } = texts;
  if (keys.length === 0) return <Empty>{words.noKeys}</Empty>;
  return (
    <Table
      label={keyWords.title}
      columns={[common.name, { number: keyWords.used }, common.status, common.created, words.change]}
    >
      {keys.map((key) => (
        <tr>
          <th scope="row">
            {key.name || keyWords.unnamed}
            <br />
            <code>{key.hint}</code>
          </th>
          <td class="right">
            <Money amount={key.used} /> {key.usageLimit === null ? '' : keyWords.ofLimit(usd(key.usageLimit))}
          </td>
          <td>
            {key.disabledAt === null ? (
              <Badge tone="good">{keyWords.active}</Badge>
            ) : (
              <Badge tone="calm">{keyWords.disabled}</Badge>
            )}
          </td>
          <td>
            <Time at={key.createdAt} />
          </td>
          <td>
            {mayChange ? (
              <Form
                token={session.formToken}
                action={`/console/staff/accounts/${account.id}/keys/${key.id}/${key.disabledAt ? 'enable' : 'disable'}`}
              >
                <button type="submit" class="quiet">
                  {key.disabledAt ? keyWords.enable : keyWords.disable}
                </button>
              </Form>
            ) : null}
          </td>
        </tr>
      ))}
    </Table>
  );
}

function Members({ members, texts }: { readonly members: readonly Member[]; readonly texts: Texts }) {
  const { staffAccounts: words, common } = texts;
  if (members.length === 0) return <Empty>{words.noMembers}</Empty>;
  return (
    <Table label={words.members} columns={[common.name, words.email, words.role]}>
      {members.map(({ name, email, role }) => (
        <tr>
          <th scope="row">{name}</th>
          <td>{email}</td>
          <td>{words.roles[role]}</td>
        </tr>
      ))}
    </Table>
  );
}

function Actions({ actions, texts }: { readonly actions: readonly AccountAction[]; readonly texts: Texts }) {
  const { staffAccounts: words, staff } = texts;
  if (actions.length === 0) return <Empty>{words.noActions}</Empty>;
  return (
    <Table label={words.actions} columns={[staff.when, staff.action, staff.author, staff.reason]}>
      {actions.map(({ createdAt, kind, author, reason }) => (
        <tr>
          <td>
            <Time at={createdAt} />
          </td>
          <td>{words.kindsOfAction[kind]}</td>
          <td>{author}</td>
          <td>{reason}</td>
        </tr>
      ))}
    </Table>
  );
}
