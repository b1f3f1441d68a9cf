/** The public status page, `/status`: contract 4.12. The page needs no session and no script. */
import type { Router } from '@koa/router';
import { renderToString } from 'hono/jsx/dom/server';
import type { PublicStatus, ServiceReport } from '../../services/operations/public-status.ts';
import type { ApiServices } from '../../api/services.ts';
import type { RequestState } from '../../api/state.ts';
import { STATUS } from '../../domain/policy.ts';
import { type ServiceStatus, statusOf } from '../../domain/service-status.ts';
import { Badge, Time, type Tone } from '../html/components.tsx';
import type { Site } from '../../catalogue/site.ts';
import { preferredLanguage, type Texts, textsIn } from '../texts/texts.ts';
import { PublicDocument } from './frame.tsx';
import { publicHeaders } from './headers.ts';

const TONES = { operational: 'good', degraded: 'busy', outage: 'bad' } as const satisfies Record<ServiceStatus, Tone>;

const HEADERS = publicHeaders("'none'");

/** Adds the page to a router. Renders each status once per language. */
export function mountStatus(
  router: Router<RequestState>,
  services: Pick<ApiServices, 'operations' | 'site' | 'publicUrl'>,
): void {
  const drawn = new WeakMap<PublicStatus, Map<string, string>>();
  router.get('/status', async (context) => {
    context.state.endpoint = { path: '/status', tag: 'Service' };
    const status = await services.operations.readStatus().catch(() => null);
    const { site, publicUrl } = services;
    const texts = textsIn(preferredLanguage(context.get('accept-language'), site), site.name);
    const pages = (status && drawn.get(status)) ?? new Map<string, string>();
    const page = pages.get(texts.language) ?? draw({ status, site, texts, address: `${publicUrl}/status` });
    if (status) drawn.set(status, pages.set(texts.language, page));
    context.set(HEADERS);
    context.set('Cache-Control', status === null ? 'no-store' : `public, max-age=${STATUS.freshSeconds}`);
    context.status = status === null ? 503 : 200;
    context.type = 'html';
    context.body = page;
  });
}

interface Drawn {
  /** Null if the status cannot be read. */
  readonly status: PublicStatus | null;
  readonly site: Site;
  readonly texts: Texts;
  readonly address: string;
}

function draw({ status, texts, ...frame }: Drawn): string {
  const { title } = texts.status;
  const content = <StatusContent status={status} messages={texts.status} />;
  return `<!doctype html>${renderToString(<PublicDocument title={title} texts={texts} content={content} {...frame} />)}`;
}

function StatusContent({ status, messages }: { status: PublicStatus | null; messages: Texts['status'] }) {
  if (status === null) return <p class="overall overall-bad">{messages.unknown}</p>;
  return (
    <>
      <p class={`overall overall-${TONES[status.status]}`}>{messages.overall[status.status]}</p>
      {status.services.map((service) => (
        <ServiceCard service={service} messages={messages} />
      ))}
      <p class="hint">{messages.explanation}</p>
      <p class="hint">
        {messages.asOf} <Time at={new Date(status.updatedAtMs)} /> · <a href="/status.json">JSON</a>
      </p>
    </>
  );
}

function ServiceCard({ service, messages }: { service: ServiceReport; messages: Texts['status'] }) {
  const { kind, family, status, availability, days } = service;
  const share = availability === null ? messages.noRequests : messages.available(percent(availability));
  return (
    <section class="card">
      <div class="service">
        <h2>{family ?? messages.services[kind]}</h2>
        {family === null ? null : <span class="soft">{messages.services[kind]}</span>}
        <Badge tone={TONES[status]}>{messages.states[status]}</Badge>
      </div>
      <div class="days" role="img" aria-label={`${messages.period(days.length)}: ${share}`}>
        {days.map((day) => (
          <DayBar {...day} />
        ))}
      </div>
      <div class="service soft">
        <span>{messages.period(days.length)}</span>
        <span>{share}</span>
        <span>{messages.today}</span>
      </div>
    </section>
  );
}

/** Good days have neither a class nor a hint, so that the page stays small with many families. */
function DayBar({ date, availability }: ServiceReport['days'][number]) {
  if (availability === null) return <i class="none" />;
  const tone = TONES[statusOf(availability)];
  return tone === 'good' ? <i /> : <i class={tone} title={`${date}: ${percent(availability)}`} />;
}

/** Rounds down, so that 100 % means every request. */
function percent(share: number): string {
  return `${(Math.floor(share * 10_000) / 100).toFixed(2)} %`;
}
