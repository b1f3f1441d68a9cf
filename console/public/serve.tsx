/**
 * Serves the pages for everybody: the status, and with a file about the site its documents, models and prices. They
 * need no session and no script.
 */
import type { Router } from '@koa/router';
import { DOCS_PATH } from '../../api/docs-address.ts';
import type { ApiServices } from '../../api/services.ts';
import type { Context, RequestState } from '../../api/state.ts';
import type { Catalogue } from '../../catalogue/types.ts';
import type { Site } from '../../catalogue/site.ts';
import { ServiceError } from '../../domain/errors.ts';
import { renderContent } from '../html/layout.tsx';
import { LOGO_PATH } from '../html/site.tsx';
import { showPage, type Visit } from '../page.ts';
import { anonymousVisit } from '../visit.ts';
import { documentPages } from './documents.tsx';
import { PublicDocument } from './frame.tsx';
import { guidePage } from './guide.tsx';
import { publicHeaders } from './headers.ts';
import { offerOf, offerPages, pathOfModel } from './offer.tsx';
import type { PublicPage } from './page.ts';
import { mountStatus } from './status.tsx';

/** Besides the status. */
export const PUBLIC_PAGES: readonly PublicPage[] = [guidePage, ...documentPages, ...offerPages];
/** The list of models has a form of filters. */
const HEADERS = publicHeaders("'self'");
/** Disabled models disappear within this time. */
const FRESH_MS = 60_000;

/** Adds the pages to a router. */
export function mountPublicPages(router: Router<RequestState>, services: ApiServices): void {
  mountStatus(router, services);
  const pages = new DrawnPages();
  for (const page of PUBLIC_PAGES) {
    router.get(page.path, async (context) => {
      const visit = anonymousVisit(context, services);
      const draw = (): string | null => drawPage(page, visit, services);
      // A page with a filter is drawn each time, so that the kept pages have a bound.
      const html = visit.query.size > 0 ? draw() : pages.find(`${visit.texts.language} ${visit.path}`, services, draw);
      if (html === null) throw nothingHere();
      context.set(HEADERS);
      answer(context, page.path, 'html', html);
    });
  }
  router.get('/sitemap.xml', (context) => {
    const sitemap = pages.find('/sitemap.xml', services, () =>
      services.site.isPublic ? writeSitemap(services) : null,
    );
    if (sitemap === null) throw nothingHere();
    answer(context, '/sitemap.xml', 'application/xml', sitemap);
  });
}

function answer(context: Context, path: string, type: string, body: string): void {
  context.state.endpoint = { path, tag: 'Service' };
  context.set('Cache-Control', `public, max-age=${FRESH_MS / 1_000}`);
  context.status = 200;
  context.type = type;
  context.body = body;
}

function drawPage(page: PublicPage, visit: Visit, services: ApiServices): string | null {
  const shown = page.show(visit, services);
  if (shown === null) return null;
  const { texts, site, path } = visit;
  const picture = shown.picture ?? (site.logo === null ? null : LOGO_PATH);
  const frame = (
    <PublicDocument
      {...shown}
      address={services.publicUrl + path}
      picture={picture && services.publicUrl + picture}
      site={site}
      texts={texts}
    />
  );
  return `<!doctype html>${renderContent(showPage(shown.title, frame), visit)}`;
}

function nothingHere(): ServiceError {
  return new ServiceError('not_found', `There is no such page. ${DOCS_PATH} has the guide, and /console the console.`);
}

/** Keeps what was drawn until the catalogue or the site changes, and at most for a minute. */
class DrawnPages {
  readonly #pages = new Map<string, string>();
  #of: { readonly catalogue: Catalogue; readonly site: Site; readonly sinceMs: number } | null = null;

  /** @param draw returns null for what is not there, which is not kept */
  find(key: string, { catalogue, site }: ApiServices, draw: () => string | null): string | null {
    const isFresh = this.#of !== null && performance.now() - this.#of.sinceMs < FRESH_MS;
    if (!isFresh || this.#of?.catalogue !== catalogue || this.#of.site !== site) {
      this.#pages.clear();
      this.#of = { catalogue, site, sinceMs: performance.now() };
    }
    const drawn = this.#pages.get(key) ?? draw();
    if (drawn !== null) this.#pages.set(key, drawn);
    return drawn;
  }
}

/** https://www.sitemaps.org/protocol.html */
function writeSitemap(services: ApiServices): string {
  const paths = [
    '/',
    '/models',
    '/pricing',
    DOCS_PATH,
    ...services.site.documents.map(({ name }) => `/${name}`),
    ...offerOf(services).map(({ id }) => pathOfModel(id)),
  ];
  // Addresses and encoded ids have no characters that XML escapes, apart from the apostrophe, which is one in text.
  const urls = paths.map((path) => `<url><loc>${services.publicUrl}${path}</loc></url>`);
  return `<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">${urls.join('')}</urlset>\n`;
}
