/** Registrations of strangers: by day, source and outcome; the approval of those that wait; and blocks. */
import { approveRegistration, rejectRegistration } from '../../../../services/people/registration-decisions.ts';
import { blockPerson, blockRegistrations, liftBlock } from '../../../../services/people/registration-blocks.ts';
import { rejectRegistrationSchema } from '../../../../services/input/admin.ts';
import { createValidator } from '../../../../services/input/validation.ts';
import { REGISTRATION, REGISTRATION_BLOCK, REGISTRATION_COUNT } from '../../../../services/resources/registrations.ts';
import type { ApiServices } from '../../../../api/services.ts';
import { listRegistrationBlocks, type RegistrationBlock } from '../../../../db/queries/registration-blocks.ts';
import {
  countRegistrations,
  findListedRegistration,
  type ListedRegistration,
  listRegistrations,
  type RegistrationFilter,
} from '../../../../db/queries/registration-lists.ts';
import { domainOf } from '../../../../domain/normal-address.ts';
import { BLOCK_KINDS, type BlockKind, REGISTRATION_STATES } from '../../../../domain/registration.ts';
import { SIGNUP_CREDIT_OUTCOMES } from '../../../../domain/signup-credit.ts';
import { withAccountNames } from '../../../account-names.ts';
import { Card, Choice, Field, Form } from '../../../html/components.tsx';
import { ChoiceFilter, ChoiceLinks, DayFilters, FieldFilter, Filters } from '../../../html/filters.tsx';
import { useMay, useTexts } from '../../../html/page-context.ts';
import { ReasonCard } from '../../../html/reason-card.tsx';
import { ResourceFacts, TableCard } from '../../../html/resource-table.tsx';
import { readListPage } from '../../../list-page.ts';
import {
  formsOver,
  hasPermission,
  type PageResult,
  requireFound,
  showPage,
  staff,
  type UserVisit,
} from '../../../page.ts';
import { periodOf, periodOrMonth } from '../../../period.ts';
import { authorshipOf } from '../reason.ts';

const PATH = '/staff/registrations';
const BLOCKS_PATH = '/staff/registration-blocks';
/** More combinations of source and outcome than a month of days has. */
const MAX_COUNTS = 500;

const page = staff.page(`${PATH}/{registration_id}`, 'read', showOne);
const blocksPage = staff.page(BLOCKS_PATH, 'read', showBlocks);
const act = formsOver(page, 'operate', existing);

export const staffRegistrationPages = [
  staff.page(PATH, 'read', showAll),
  page,
  act(
    '/approve',
    (visit, services, { id }) => approveRegistration(services, id, authorshipOf(visit)),
    'registrationApproved',
  ),
  act(
    '/reject',
    (visit, { database }, { id }) => rejectRegistration(database, id, rejectionOf(visit)),
    'registrationRejected',
  ),
  act('/block', blockOne, 'blocked'),
  blocksPage,
  blocksPage.form(
    '',
    'operate',
    (visit, { database }) => {
      const value = visit.form.text('value');
      return blockRegistrations(database, { kind: kindIn(visit), value }, authorshipOf(visit));
    },
    'blocked',
  ),
  blocksPage.form(
    '/{block_id}/lift',
    'operate',
    (visit, { database }) => liftBlock(database, visit.params['block_id'] ?? '', authorshipOf(visit)),
    'lifted',
  ),
];

async function existing({ params }: UserVisit, { database }: ApiServices): Promise<ListedRegistration> {
  return requireFound(await findListedRegistration(database, params['registration_id'] ?? ''));
}

/** Blocks the mailbox, the domain or the network of a registration. A block of the mailbox disables its user. */
async function blockOne(
  visit: UserVisit,
  { database }: ApiServices,
  { email, network, userId }: ListedRegistration,
): Promise<void> {
  const [kind, by] = [kindIn(visit), authorshipOf(visit)];
  if (kind === 'network') await blockRegistrations(database, { kind, value: network }, by);
  else if (kind === 'domain') await blockRegistrations(database, { kind, value: domainOf(email ?? '') }, by);
  else if (userId === null) await blockRegistrations(database, { kind, value: email ?? '' }, by);
  else await blockPerson(database, userId, by);
}

function kindIn({ form }: UserVisit): BlockKind {
  const kind = form.text('block_kind');
  return BLOCK_KINDS.find((known) => known === kind) ?? 'address';
}

const validateRejection = createValidator(rejectRegistrationSchema);

function rejectionOf({ form, user }: UserVisit) {
  const { reason, message = '' } = validateRejection({ reason: form.text('reason'), message: form.text('message') });
  return { author: user.email, reason, message };
}

async function showAll(visit: UserVisit, { reports, clock }: ApiServices): Promise<PageResult> {
  const { query, texts } = visit;
  const state = REGISTRATION_STATES.find((known) => known === query.get('state'));
  const filter: RegistrationFilter = {
    // The queue has those of the last month, too.
    ...(state === 'waiting_for_approval' ? periodOf(query) : periodOrMonth(query, clock.nowMs())),
    state,
    signupCredit: SIGNUP_CREDIT_OUTCOMES.find((known) => known === query.get('signup_credit')),
    source: query.get('source') || undefined,
  };
  const [{ entries: registrations, next }, counts] = await Promise.all([
    readListPage(query, 'registration', (slice) => listRegistrations(reports, { ...filter, ...slice })),
    countRegistrations(reports, { ...filter, limit: MAX_COUNTS }),
  ]);
  const { registrations: messages, titles, common } = texts;
  return showPage(
    titles.registrations,
    <p class="row">
      <a href={`/console${PATH}?state=waiting_for_approval`}>{messages.waiting}</a>
      <a href={`/console${BLOCKS_PATH}`}>{titles.registrationBlocks}</a>
    </p>,
    <Filters hasViews={false}>
      <DayFilters standing={filter} />
      <ChoiceFilter name="state" all={messages.allStates} values={REGISTRATION_STATES} />
      <ChoiceFilter name="signup_credit" all={messages.allCredit} values={SIGNUP_CREDIT_OUTCOMES} />
      <FieldFilter name="source" />
    </Filters>,
    <TableCard
      title={messages.byDay}
      of={REGISTRATION_COUNT}
      rows={counts}
      none={messages.none}
      columns={['day', 'source', 'state', 'state_reason', 'signup_credit', 'registrations', 'signup_granted_usd']}
    />,
    registrations.length === 0 ? null : (
      <TableCard
        title={titles.registrations}
        of={REGISTRATION}
        rows={registrations}
        pageOf={({ id }) => `/console${PATH}/${id}`}
        columns={[[common.when, 'created_at'], 'email', 'network', 'source', 'state', 'signup_credit']}
        notes={{ state: 'state_reason' }}
        next={next}
      />
    ),
  );
}

async function showOne(visit: UserVisit, services: ApiServices): Promise<PageResult> {
  const registration = await existing(visit, services);
  const { registrations: messages, titles, common } = visit.texts;
  const path = `registrations/${registration.id}`;
  return withAccountNames(
    services.database,
    registration.accountId === null ? [] : [registration.accountId],
    showPage(
      titles.registration,
      <Card>
        <ResourceFacts
          of={REGISTRATION}
          row={registration}
          columns={[
            [common.when, 'created_at'],
            'email',
            'network',
            'source',
            'state',
            'state_reason',
            'signup_credit',
            'account_id',
            'decided_by',
            'decision_reason',
          ]}
        />
        {registration.userId === null ? null : (
          <p>
            <a href={`/console/staff/people/${registration.userId}`}>{messages.person}</a>
          </p>
        )}
      </Card>,
      hasPermission(visit, 'operate') ? (
        <div class="grid">
          {registration.state === 'waiting_for_approval' ? (
            <>
              <ReasonCard title={messages.approve} hint={messages.approveHint} action={`${path}/approve`} look="" />
              <ReasonCard title={messages.reject} hint={messages.rejectHint} action={`${path}/reject`} look="danger">
                <Field name="message" label={messages.message} lines={2} />
              </ReasonCard>
            </>
          ) : null}
          <ReasonCard title={messages.block} hint={messages.blockHint} action={`${path}/block`} look="danger">
            <BlockKindChoice />
          </ReasonCard>
        </div>
      ) : null,
    ),
  );
}

async function showBlocks(visit: UserVisit, { database }: ApiServices): Promise<PageResult> {
  const isLifted = visit.query.get('lifted') === 'true';
  const { entries: blocks, next } = await readListPage(visit.query, 'registrationBlock', (slice) =>
    listRegistrationBlocks(database, { isLifted, ...slice }),
  );
  const { registrations: messages, titles } = visit.texts;
  return showPage(
    titles.registrationBlocks,
    <p class="soft">{messages.blocksExplained}</p>,
    hasPermission(visit, 'operate') ? (
      <ReasonCard title={messages.block} hint={messages.valueHint} action="registration-blocks" look="">
        <BlockKindChoice />
        <Field name="value" required autocomplete="off" />
      </ReasonCard>
    ) : null,
    <ChoiceLinks name="lifted" all={messages.inForce} values={['true']} />,
    <TableCard
      of={REGISTRATION_BLOCK}
      rows={blocks}
      none={isLifted ? messages.noneLifted : messages.noBlocks}
      columns={[
        ...(['value', 'block_kind', 'reason', 'author', 'created_at'] as const),
        ...(isLifted
          ? (['lifted_by', 'lift_reason', 'lifted_at'] as const)
          : [[messages.lift, ({ id }: RegistrationBlock) => <Lift id={id} />] as const]),
      ]}
      next={next}
    />,
  );
}

function BlockKindChoice() {
  const { values } = useTexts();
  return <Choice name="block_kind" options={BLOCK_KINDS.map((kind) => [kind, values.block_kind[kind]] as const)} />;
}

function Lift({ id }: { id: string }) {
  const { registrations: messages } = useTexts();
  if (!useMay('operate')) return <>–</>;
  return (
    <Form action={`/console${BLOCKS_PATH}/${id}/lift`} class="row" submit={messages.lift} look="quiet">
      <Field name="reason" id={`${id}-reason`} required />
    </Form>
  );
}
