/** The frame of the pages for everybody, which need no session and no script. */
import type { Child } from 'hono/jsx';
import { DOCS_PATH } from '../../api/docs-address.ts';
import { Announcement, Brand, PageHead, SiteFooter, type SiteParts } from '../html/site.tsx';

export interface PublicFrame extends SiteParts {
  readonly title: string;
  /** The address of the page without a query, for search engines. */
  readonly address: string;
  /** For search engines and previews of links; null for none. */
  readonly description?: string;
  /** The address of a picture for previews of links; null for none. */
  readonly picture?: string | null;
  readonly content: Child;
}

export function PublicDocument({ title, address, description, picture, content, site, texts }: PublicFrame) {
  const { site: messages, status, registration } = texts;
  const links: readonly (readonly [label: string, href: string])[] = [
    ...(site.isPublic ? [[messages.models, '/models'] as const, [messages.prices, '/pricing'] as const] : []),
    [messages.docs, DOCS_PATH],
    [status.title, '/status'],
    [messages.signIn, '/console'],
    ...(site.registration === null ? [] : [[registration.title, '/console/register'] as const]),
  ];
  return (
    <html lang={texts.language}>
      <head>
        <PageHead title={title} site={site} texts={texts} />
        <link rel="canonical" href={address} />
        <meta property="og:title" content={title} />
        <meta property="og:site_name" content={texts.product} />
        <meta property="og:type" content="website" />
        <meta property="og:url" content={address} />
        {picture ? <meta property="og:image" content={picture} /> : null}
        {description === undefined ? null : (
          <>
            <meta name="description" content={description} />
            <meta property="og:description" content={description} />
          </>
        )}
      </head>
      <body>
        <header class="public-head">
          <Brand site={site} texts={texts} href={site.isPublic ? '/' : '/console'} />
          <nav aria-label={messages.pages}>
            {links.map(([label, href]) => (
              <a href={href}>{label}</a>
            ))}
          </nav>
        </header>
        <main class="public">
          <Announcement site={site} texts={texts} />
          <h1>{title}</h1>
          {content}
        </main>
        <SiteFooter site={site} texts={texts} />
      </body>
    </html>
  );
}
