/** The public status page, `/status`: contract 4.12. The page needs no session and no script. */
import type { Router } from '@koa/router';
import { renderToString } from 'hono/jsx/dom/server';
import type { PublicStatus, ServiceReport } from '../services/operations/public-status.ts';
import type { ApiServices } from '../api/services.ts';
import type { RequestState } from '../api/state.ts';
import { STATUS } from '../domain/policy.ts';
import { type ServiceStatus, statusOf } from '../domain/service-status.ts';
import { Badge, Time, type Tone } from './html/components.tsx';
import { preferredLanguage, type Texts, textsIn } from './texts/texts.ts';

const TONES = { operational: 'good', degraded: 'busy', outage: 'bad' } as const satisfies Record<ServiceStatus, Tone>;

const HEADERS = {
  'Content-Security-Policy':
    "default-src 'none'; style-src 'self'; img-src 'self'; font-src 'self'; form-action 'none'; frame-ancestors 'none'; base-uri 'none'",
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'same-origin',
  Vary: 'Accept-Language',
};

/** Adds the page to a router. Renders each status once per language. */
export function mountStatus(
  router: Router<RequestState>,
  { operations: { readStatus } }: Pick<ApiServices, 'operations'>,
): void {
  const drawn = new WeakMap<PublicStatus, Map<string, string>>();
  router.get('/status', async (context) => {
    context.state.endpoint = { path: '/status', tag: 'Service' };
    const status = await readStatus().catch(() => null);
    const texts = textsIn(preferredLanguage(context.get('accept-language')));
    const pages = (status && drawn.get(status)) ?? new Map<string, string>();
    const page = pages.get(texts.language) ?? draw(status, texts);
    if (status) drawn.set(status, pages.set(texts.language, page));
    context.set(HEADERS);
    context.set('Cache-Control', status === null ? 'no-store' : `public, max-age=${STATUS.freshSeconds}`);
    context.status = status === null ? 503 : 200;
    context.type = 'html';
    context.body = page;
  });
}

/** @param status null if the status cannot be read */
function draw(status: PublicStatus | null, texts: Texts): string {
  return `<!doctype html>${renderToString(<StatusPage status={status} texts={texts} />)}`;
}

function StatusPage({ status, texts }: { status: PublicStatus | null; texts: Texts }) {
  const { status: messages } = texts;
  return (
    <html lang={texts.language}>
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>{`${messages.title} · ${texts.product}`}</title>
        <link rel="icon" href="/console/assets/icon.svg" type="image/svg+xml" />
        <link rel="stylesheet" href="/console/assets/console.css" />
      </head>
      <body>
        <main class="public">
          <h1>{messages.title}</h1>
          {status === null ? (
            <p class="overall overall-bad">{messages.unknown}</p>
          ) : (
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
          )}
        </main>
      </body>
    </html>
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
        {days.map(({ date, availability }) => (
          <i
            class={availability === null ? 'none' : TONES[statusOf(availability)]}
            title={`${date}: ${availability === null ? messages.noRequests : percent(availability)}`}
          />
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

/** Rounds down, so that 100 % means every request. */
function percent(share: number): string {
  return `${(Math.floor(share * 10_000) / 100).toFixed(2)} %`;
}
