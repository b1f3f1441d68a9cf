/** Finds anything that has an id, across all accounts. */
import { type AccountState, accountStateOf } from '../../../domain/account-state.ts';
import { ServiceError } from '../../../domain/errors.ts';
import { dataOf, withPlainText } from '../../endpoint/answers.ts';
import { endpoint, endpoints } from '../../endpoint/endpoint.ts';
import { text } from '../../../domain/json-schema.ts';
import * as field from '../../../domain/resource/field.ts';
import { nested, resource } from '../../../domain/resource/resource.ts';
import { FINDABLE_KINDS, FINDABLE_PREFIXES, findById, type Found } from '../../../services/operations/find-by-id.ts';
import { renderTimeline, TIMELINE_SOURCES } from '../../../services/tasks/timeline.ts';
import { LISTED_ACCOUNT } from '../../../services/resources/admin.ts';

const EVENT = nested<Found['events'][number]>({
  at: field.isoTime('at', 'When the event happened'),
  source: field.oneOf(TIMELINE_SOURCES)('source', 'The source of the event'),
  text: field.text('text', 'The description of the event'),
});

const FOUND = resource<Found>(
  'Found',
  {
    object: field.constant('found'),
    id: field.text('id', 'The id that was found. A request id leads to its task or text request'),
    kind: field.oneOf(FINDABLE_KINDS)('kind', 'The kind of the id'),
    account: field
      .object(LISTED_ACCOUNT)
      .orNull('account', 'Null for gift codes that nobody redeemed, and for their batches'),
    verdict: field.text('verdict', 'The current state'),
    lines: field.texts(text())(renderFound, 'The events as lines of text'),
    events: field.list(EVENT)('events', 'The events, oldest first'),
  },
  'The owner of an id, with the account and the events.',
);

export const findEndpoints = endpoints('Administration', {
  find: endpoint({
    request: 'GET /admin/v1/find/{any_id}',
    access: 'admin-read',
    summary: 'Find the account and the events of any id',
    description: `Accepts ids that begin with ${FINDABLE_PREFIXES.map((prefix) => `\`${prefix}\``).join(', ')}. \`Accept: text/plain\` returns text.`,
    answers: { 200: withPlainText(dataOf(FOUND.schema, 'The account and the events')) },
    refusals: ['not_found'],
    handle: async ({ params: { any_id: id }, context }, services) => {
      const found = await findById(services, id);
      if (!found) throw nothingFound(id);
      if (context.accepts('json', 'text') === 'text') return `${renderFound(found).join('\n')}\n`;
      return { data: FOUND.present(found) };
    },
  }),
});

const STATES: Readonly<Record<AccountState, string>> = {
  open: '',
  suspended: ' (suspended)',
  account_closed: ' (closed)',
  account_merged: ' (merged)',
};

function renderFound(found: Found): readonly string[] {
  const timeline = renderTimeline(found);
  if (found.account === null) return timeline;
  const { id, name, email, externalId } = found.account;
  const state = STATES[accountStateOf(found.account)];
  const owner = [id, name, ...(email === null ? [] : [email]), ...(externalId === null ? [] : [externalId])].join(', ');
  return [`account: ${owner}${state}`, ...timeline];
}

function nothingFound(id: string): ServiceError {
  const begins = FINDABLE_PREFIXES.find((prefix) => id.startsWith(prefix));
  if (begins === undefined) {
    return new ServiceError('not_found', `No id has this prefix. Ids begin with ${FINDABLE_PREFIXES.join(', ')}.`);
  }
  return new ServiceError(
    'not_found',
    `Nothing has this id. ${HINTS[begins] ?? 'Check that the id is complete, and from this installation.'}`,
  );
}

const OF_ANSWERS =
  "The id may be the vendor's: an answer that was forwarded unchanged keeps it. Search for the `x-request-id` of the answer.";

/** Hints by the prefix of an id. */
const HINTS: Readonly<Record<string, string>> = {
  'chatcmpl-': OF_ANSWERS,
  resp_: OF_ANSWERS,
  msg_: OF_ANSWERS,
  req_: 'Refused requests of a key are kept for a day, the latest ten of equal ones. The logs alone keep the others, and requests that only read.',
  file_: 'Uploads that were deleted or have expired cannot be found.',
};
