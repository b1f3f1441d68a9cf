/** Whatever has an id, found across all accounts. */
import { ServiceError } from '../../../domain/errors.ts';
import { dataOf, orAsText } from '../../endpoint/answers.ts';
import { endpoint } from '../../endpoint/endpoint.ts';
import {
  arrayOf,
  exactly,
  fieldsOf,
  isoTime,
  namedObject,
  object,
  oneOfTexts,
  text,
} from '../../openapi/json-schema.ts';
import { FINDABLE_KINDS, FINDABLE_PREFIXES, findById, type Found } from '../../services/find-by-id.ts';
import { renderStory, STORY_SOURCES } from '../../services/story.ts';
import { LISTED_ACCOUNT } from './present.ts';

type FoundObject = ReturnType<typeof presentFound>;

const FoundSchema = namedObject<FoundObject>(
  'Found',
  {
    object: exactly('found'),
    id: text('Of what the story is about: a request leads to its task or text request'),
    kind: oneOfTexts(FINDABLE_KINDS, 'What was asked for'),
    account: LISTED_ACCOUNT.schema,
    verdict: text('How it stands'),
    lines: arrayOf(text(), 'The whole story for people'),
    events: arrayOf(
      object(
        fieldsOf<FoundObject['events'][number]>({
          at: isoTime('When'),
          source: oneOfTexts(STORY_SOURCES, 'Who knows of it'),
          text: text('What happened'),
        }),
      ),
      'Oldest first',
    ),
  },
  'What an id stands for, whose it is, and what happened to it.',
);

export const find = endpoint({
  id: 'find',
  tag: 'Administration',
  method: 'get',
  path: '/admin/v1/find/{any_id}',
  access: 'admin-read',
  summary: 'Find the account and the story of any id',
  description: `Ids that begin with ${FINDABLE_PREFIXES.map((prefix) => `\`${prefix}\``).join(', ')}. As plain text by \`Accept\`.`,
  answers: { 200: orAsText(dataOf(FoundSchema, 'What was found')) },
  refusals: ['not_found'],
  handle: async ({ params: { any_id: id }, context }, services) => {
    const found = await findById(services, id);
    if (!found) throw nothingFound(id);
    if (context.accepts('json', 'text') === 'text') return `${renderFound(found).join('\n')}\n`;
    return { data: presentFound(found) };
  },
});

function presentFound(found: Found) {
  const { id, kind, account, verdict, events } = found;
  return {
    object: 'found',
    id,
    kind,
    account: LISTED_ACCOUNT.present(account),
    verdict,
    lines: renderFound(found),
    events: events.map(({ at, source, text }) => ({ at: at.toISOString(), source, text })),
  };
}

function renderFound(found: Found): readonly string[] {
  const { id, name, email, externalId, suspendedAt } = found.account;
  const owner = [id, name, ...(email === null ? [] : [email]), ...(externalId === null ? [] : [externalId])].join(', ');
  return [`account: ${owner}${suspendedAt === null ? '' : ' (suspended)'}`, ...renderStory(found)];
}

function nothingFound(id: string): ServiceError {
  const begins = FINDABLE_PREFIXES.find((prefix) => id.startsWith(prefix));
  if (begins === undefined) {
    return new ServiceError('not_found', `No id begins like this one. Ids begin with ${FINDABLE_PREFIXES.join(', ')}.`);
  }
  return new ServiceError(
    'not_found',
    `Nothing has this id. ${HINTS[begins] ?? 'Check that it is whole, and of this installation.'}`,
  );
}

const OF_ANSWERS =
  "An answer that was forwarded as the vendor wrote it has the vendor's id: look for the `x-request-id` that came with it.";

/** What else may be the matter, by how an id begins. */
const HINTS: Readonly<Record<string, string>> = {
  'chatcmpl-': OF_ANSWERS,
  resp_: OF_ANSWERS,
  msg_: OF_ANSWERS,
  req_: 'A request that was refused, or only read, left nothing but lines in the logs.',
  file_: 'An upload that was deleted or has expired is gone.',
};
