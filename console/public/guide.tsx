/** The guide for developers. Its facts come from the definitions of the API. */
import { raw } from 'hono/html';
import type { Child } from 'hono/jsx';
import { DOCS_PATH } from '../../api/docs-address.ts';
import type { ApiServices } from '../../api/services.ts';
import { type CredentialPlaces, MESSAGES_PLACES, NATIVE_PLACES } from '../../domain/credential-places.ts';
import { presentError } from '../../domain/error-envelope.ts';
import { ERRORS, ServiceError, TASK_ERROR_CODES } from '../../domain/errors.ts';
import { newId } from '../../domain/ids.ts';
import { IDEMPOTENCY, UPLOADS, WEBHOOKS } from '../../domain/policy.ts';
import { POLL_AFTER_SECONDS, TASK_STATUSES } from '../../domain/task.ts';
import { SUBSCRIBABLE_EVENTS, TASK_EVENTS } from '../../domain/webhook-event.ts';
import { deliveryHeaders } from '../../domain/webhook-signature.ts';
import { WIRE_FORMAT_NAMES, type WireFormatName } from '../../domain/wire-format-name.ts';
import { ApiReference } from '../html/api-reference.tsx';
import { useTexts } from '../html/page-context.ts';
import type { GuideFacts } from '../texts/guide-en.ts';
import type { Texts } from '../texts/texts.ts';
import { clientSettings } from './client-settings.ts';
import { firstExample, pathOf } from './example-calls.ts';
import { Code } from './examples.tsx';
import { markdown } from './markdown.ts';
import { offerOf } from './offer.tsx';
import type { PublicPage } from './page.ts';
import { VERIFY_EXAMPLE } from './verify-example.ts';

type SectionName = keyof Texts['guide']['sections'];

const SECTIONS: readonly SectionName[] = ['start', 'authentication', 'tasks', 'webhooks', 'errors', 'clients'];

const MEGABYTE_BYTES = 2 ** 20;

/** Where each format accepts the key, besides the bearer token. */
const PLACES: Readonly<Record<WireFormatName, CredentialPlaces>> = {
  'chat-completions': {},
  responses: {},
  messages: MESSAGES_PLACES,
  'generate-content': NATIVE_PLACES,
};

export const guidePage: PublicPage = {
  path: DOCS_PATH,
  show: ({ texts }, services) => {
    const { title, description, contents, sections } = texts.guide;
    const facts = factsOf(services);
    const details: Readonly<Record<SectionName, Child>> = {
      start: <FirstCall services={services} isFor={(kind) => kind === 'text'} />,
      authentication: <KeyPlaces />,
      tasks: <FirstCall services={services} isFor={(kind) => kind !== 'text'} poll={services.publicUrl} />,
      webhooks: <Code>{VERIFY_EXAMPLE}</Code>,
      errors: <ErrorCodes />,
      clients: <Clients url={services.publicUrl} />,
    };
    return {
      title,
      description,
      content: (
        <>
          <nav aria-label={contents}>
            <ul class="inline">
              {SECTIONS.map((name) => (
                <li>
                  <a href={`#${name}`}>{sections[name].title}</a>
                </li>
              ))}
            </ul>
          </nav>
          <ApiReference />
          {SECTIONS.map((name) => (
            <section class="card" id={name}>
              <h2>{sections[name].title}</h2>
              <div class="prose">{raw(markdown.render(sections[name].text(facts)))}</div>
              {details[name]}
            </section>
          ))}
        </>
      ),
    };
  },
};

function factsOf({ publicUrl, webhookScheduleMs, site }: ApiServices): GuideFacts {
  const otherEvents = SUBSCRIBABLE_EVENTS.filter((event) => !TASK_EVENTS.some((usual) => usual === event));
  return {
    apiUrl: publicUrl,
    isOpen: site.registration !== null,
    idempotencyHours: IDEMPOTENCY.windowHours,
    statuses: inCode(TASK_STATUSES),
    imageSeconds: POLL_AFTER_SECONDS.image,
    videoSeconds: POLL_AFTER_SECONDS.video,
    fileMegabytes: UPLOADS.maxBytes / MEGABYTE_BYTES,
    videoMegabytes: UPLOADS.maxVideoBytes / MEGABYTE_BYTES,
    taskEvents: inCode(TASK_EVENTS),
    otherEvents: inCode(otherEvents),
    headers: inCode(DELIVERY_HEADERS),
    attemptSeconds: WEBHOOKS.attemptTimeoutMs / 1_000,
    toleranceMinutes: WEBHOOKS.timestampToleranceSeconds / 60,
    attempts: webhookScheduleMs.length,
    waits: webhookScheduleMs.slice(1).map(duration).join(', '),
    maxWaitHours: WEBHOOKS.maxRetryAfterSeconds / 3_600,
    maxEndpoints: WEBHOOKS.maxEndpoints,
    taskCodes: inCode(TASK_ERROR_CODES),
  };
}

/** The headers of each delivery that are not common to all requests. */
const DELIVERY_HEADERS = Object.keys(
  deliveryHeaders({ secret: '', timestampSeconds: 0, body: '', messageId: '', event: '' }),
).filter((name) => name.startsWith('x-svc-') || name.startsWith('webhook-'));

function inCode(names: readonly string[]): string {
  return names.map((name) => `\`${name}\``).join(', ');
}

/** A duration in its largest whole unit, in symbols that every language has. */
function duration(ms: number): string {
  const seconds = ms / 1_000;
  if (seconds % 3_600 === 0) return `${seconds / 3_600} h`;
  return seconds % 60 === 0 ? `${seconds / 60} min` : `${seconds} s`;
}

interface FirstCallProps {
  readonly services: ApiServices;
  readonly isFor: (kind: string) => boolean;
  /** The address of the API, to show how to poll the task. */
  readonly poll?: string;
}

/** The call of the first model of a kind; nothing if there is none. */
function FirstCall({ services, isFor, poll }: FirstCallProps) {
  const code = firstExample(
    offerOf(services).filter(({ kind }) => isFor(kind)),
    services.publicUrl,
  );
  if (code === undefined) return null;
  return (
    <>
      <Code>{code}</Code>
      {poll === undefined ? null : <Code>{`curl '${poll}/v1/tasks/TASK_ID' -H "Authorization: Bearer $API_KEY"`}</Code>}
    </>
  );
}

function KeyPlaces() {
  const { guide } = useTexts();
  return (
    <GuideTable label={guide.sections.authentication.title} head={[guide.format, guide.call, guide.places]}>
      {WIRE_FORMAT_NAMES.map((format) => {
        const { before = [], after = [], parameter } = PLACES[format];
        const places = [...before, 'Authorization: Bearer', ...after, ...(parameter ? [`?${parameter}=`] : [])];
        return (
          <tr>
            <th scope="row">{format}</th>
            <td>
              <code>{pathOf(format, 'MODEL')}</code>
            </td>
            <td>
              {places.map((place) => (
                <div>
                  <code>{place}</code>
                </div>
              ))}
            </td>
          </tr>
        );
      })}
    </GuideTable>
  );
}

function ErrorCodes() {
  const { guide } = useTexts();
  const example = new ServiceError('rate_limit_exceeded', 'Too many requests. Wait, and send fewer.', {
    retryAfterSeconds: 12,
  });
  return (
    <>
      <Code>{JSON.stringify(presentError(example, newId('request')), null, 2)}</Code>
      <GuideTable label={guide.sections.errors.title} head={[guide.code, guide.status, guide.retry]}>
        {Object.entries(ERRORS).map(([code, { status, retryable }]) => (
          <tr>
            <th scope="row">
              <code>{code}</code>
            </th>
            <td>{status ?? '–'}</td>
            <td>{retryable ? guide.yes : guide.no}</td>
          </tr>
        ))}
      </GuideTable>
    </>
  );
}

function Clients({ url }: { url: string }) {
  const { product } = useTexts();
  return (
    <>
      {clientSettings({ url, product, id: 'gateway', variable: 'API_KEY' }).map(({ client, lines }) => (
        <>
          <h3>{client}</h3>
          <Code>{lines.join('\n')}</Code>
        </>
      ))}
    </>
  );
}

interface GuideTableProps {
  readonly label: string;
  readonly head: readonly string[];
  readonly children: Child;
}

function GuideTable({ label, head, children }: GuideTableProps) {
  return (
    <div class="table" role="region" aria-label={label} tabindex={0}>
      <table>
        <thead>
          <tr>
            {head.map((name) => (
              <th scope="col">{name}</th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}
