/** Text requests in rows, and one with its route, its tokens and what it cost. */
import type { Found } from '../../../../api/services/find-by-id.ts';
import { TEXT_OUTCOMES, type TextOutcome, type TextUsage } from '../../../../db/queries/usage.ts';
import {
  Badge,
  Card,
  Choice,
  Copyable,
  Empty,
  Field,
  Money,
  Pages,
  Table,
  Time,
  type Tone,
} from '../../../html/components.tsx';
import type { ListPage } from '../../../list-page.ts';
import { AnyId } from '../../../html/linked-ids.tsx';
import { Timeline } from '../../../html/timeline.tsx';
import type { Texts } from '../../../texts/texts.ts';

const TONES: Readonly<Record<TextOutcome, Tone>> = {
  succeeded: 'good',
  disconnected: 'calm',
  failed: 'bad',
  abandoned: 'bad',
};

export function RequestList({
  page: { entries: requests, next },
  query,
  path,
  texts,
}: {
  readonly page: ListPage<TextUsage>;
  readonly query: URLSearchParams;
  readonly path: string;
  readonly texts: Texts;
}) {
  return (
    <>
      <Filters query={query} texts={texts} />
      {requests.length === 0 ? (
        <Empty>{texts.staffTextRequests.none}</Empty>
      ) : (
        <Card>
          <RequestTable requests={requests} texts={texts} />
        </Card>
      )}
      <Pages path={path} query={query} next={next} texts={texts} />
    </>
  );
}

function Filters({ query, texts }: { readonly query: URLSearchParams; readonly texts: Texts }) {
  const { staffTextRequests: words, staff, common, tasks } = texts;
  const given = (name: string): string => query.get(name) ?? '';
  return (
    <form method="get" class="filters" role="search">
      <Field name="id" label={words.anyId} value={given('id')} />
      <Field name="account" label={staff.accountId} value={given('account')} />
      <Field name="model" label={common.model} value={given('model')} />
      <Choice
        name="status"
        label={common.status}
        value={given('status')}
        options={[['', tasks.allStatuses], ...TEXT_OUTCOMES.map((known) => [known, words.outcomes[known]] as const)]}
      />
      <Field name="from" label={staff.from} type="date" value={given('from')} />
      <Field name="to" label={staff.to} type="date" value={given('to')} />
      <button type="submit">{common.filter}</button>
    </form>
  );
}

function RequestTable({ requests, texts }: { readonly requests: readonly TextUsage[]; readonly texts: Texts }) {
  const { staffTextRequests: words, common } = texts;
  return (
    <Table
      label={words.title}
      columns={[
        words.request,
        common.model,
        common.status,
        words.route,
        { number: words.input },
        { number: words.output },
        { number: words.charged },
        common.created,
      ]}
    >
      {requests.map((request) => (
        <tr>
          <th scope="row">
            <AnyId id={request.id} />
            <div class="soft">
              <AnyId id={request.accountId} />
            </div>
          </th>
          <td>{request.model}</td>
          <td>
            <Outcome usage={request} texts={texts} />
          </td>
          <td>
            {request.upstream ?? words.nowhere}
            <div class="soft">{request.upstreamModel}</div>
          </td>
          <td class="right number">{words.tokens(request.inputTokens)}</td>
          <td class="right number">{words.tokens(request.outputTokens)}</td>
          <td class="right">
            <Money amount={request.charged} />
          </td>
          <td>
            <Time at={request.createdAt} />
          </td>
        </tr>
      ))}
    </Table>
  );
}

function Outcome({ usage: { outcome, errorCode }, texts }: { readonly usage: TextUsage; readonly texts: Texts }) {
  return (
    <>
      <Badge tone={TONES[outcome]}>{texts.staffTextRequests.outcomes[outcome]}</Badge>
      {errorCode === null ? null : <div class="soft">{errorCode}</div>}
    </>
  );
}

export function RequestContent({
  found: { id, account, verdict, events },
  usage,
  texts,
}: {
  readonly found: Found;
  /** Null while it is under way. */
  readonly usage: TextUsage | null;
  readonly texts: Texts;
}) {
  const { staffTextRequests: words, staffTasks, staff } = texts;
  return (
    <>
      <Card title={staffTasks.story}>
        <p>{verdict}</p>
        <Timeline events={events} texts={texts} />
      </Card>
      <Card title={staffTasks.details}>
        <dl>
          <dt>{words.id}</dt>
          <dd>
            <Copyable text={id} texts={texts} label={words.id} />
          </dd>
          <dt>{staff.account}</dt>
          <dd>
            <a href={`/console/staff/accounts/${account.id}`}>{account.name || account.id}</a>
          </dd>
          {usage === null ? null : <Route usage={usage} texts={texts} />}
        </dl>
      </Card>
      {usage === null ? null : (
        <div class="grid">
          <Card title={words.tokenCounts}>
            <Tokens usage={usage} texts={texts} />
          </Card>
          <Card title={words.money}>
            <Charges usage={usage} texts={texts} />
          </Card>
        </div>
      )}
    </>
  );
}

function Route({ usage, texts }: { readonly usage: TextUsage; readonly texts: Texts }) {
  const { staffTextRequests: words, staffTasks, common } = texts;
  const { upstream, upstreamFormat, upstreamModel, latencyMs, firstByteMs } = usage;
  return (
    <>
      <dt>{common.status}</dt>
      <dd>
        <Outcome usage={usage} texts={texts} />
      </dd>
      <dt>{common.model}</dt>
      <dd>{usage.model}</dd>
      <dt>{words.format}</dt>
      <dd>{words.asked(usage.format, usage.streamed)}</dd>
      <dt>{words.route}</dt>
      <dd>{[upstream ?? words.nowhere, upstreamFormat, upstreamModel].filter((part) => part !== null).join(', ')}</dd>
      <dt>{words.firstByte}</dt>
      <dd>{firstByteMs === null ? staffTasks.notKnown : words.milliseconds(firstByteMs)}</dd>
      <dt>{words.whole}</dt>
      <dd>{latencyMs === null ? staffTasks.notKnown : words.milliseconds(latencyMs)}</dd>
      <dt>{staffTasks.key}</dt>
      <dd>
        <AnyId id={usage.apiKeyId} />
      </dd>
    </>
  );
}

function Tokens({ usage, texts: { staffTextRequests: words } }: { readonly usage: TextUsage; readonly texts: Texts }) {
  return (
    <dl>
      <dt>{words.input}</dt>
      <dd>{words.tokens(usage.inputTokens)}</dd>
      <dt>{words.cacheRead}</dt>
      <dd>{words.tokens(usage.cacheReadTokens)}</dd>
      <dt>{words.cacheWrite}</dt>
      <dd>{words.tokens(usage.cacheWriteTokens)}</dd>
      <dt>{words.output}</dt>
      <dd>{words.tokens(usage.outputTokens)}</dd>
      {usage.reasoningTokens === null ? null : (
        <>
          <dt>{words.reasoning}</dt>
          <dd>{words.tokens(usage.reasoningTokens)}</dd>
        </>
      )}
      <dt>{words.counted}</dt>
      <dd>{usage.estimated ? words.estimated : words.reported}</dd>
    </dl>
  );
}

function Charges({ usage, texts: { staffTextRequests: words } }: { readonly usage: TextUsage; readonly texts: Texts }) {
  return (
    <dl>
      <dt>{words.held}</dt>
      <dd>
        <Money amount={usage.held} />
      </dd>
      <dt>{words.charged}</dt>
      <dd>
        <Money amount={usage.charged} />
      </dd>
      <dt>{words.absorbed}</dt>
      <dd>
        <Money amount={usage.absorbed} />
      </dd>
      <dt>{words.version}</dt>
      <dd>{usage.catalogueVersion}</dd>
      {usage.modifiers.map(({ kind, factor }) => (
        <>
          <dt>{kind.replaceAll('_', ' ')}</dt>
          <dd>{`× ${factor}`}</dd>
        </>
      ))}
    </dl>
  );
}
