/** What every page takes from the operator's site: the head, the brand, the announcement and the footer. */
import { DOCS_PATH } from '../../api/docs-address.ts';
import type { Picture, Site } from '../../catalogue/site.ts';
import { inLanguage, type Texts } from '../texts/texts.ts';

/** The site, and the texts in the reader's language. */
export interface SiteParts {
  readonly site: Site;
  readonly texts: Texts;
}

export const LOGO_PATH = '/console/assets/site-logo';
export const MARK_PATH = '/console/assets/site-mark';

/** The icon in the browser's tab; null for Genway's mark. */
export function iconOf({ mark, logo }: Site): Picture | null {
  return mark ?? logo;
}

/** The path of the operator's picture of a result of a model. */
export function pictureOf(model: string): string {
  return `/console/assets/results/${encodeURIComponent(model)}`;
}

/** The beginning of the head of a page. */
export function PageHead({ title, site, texts }: SiteParts & { readonly title: string }) {
  const icon = iconOf(site);
  return (
    <>
      <meta charset="utf-8" />
      <meta name="viewport" content="width=device-width, initial-scale=1" />
      <meta name="color-scheme" content="light dark" />
      <title>{`${title} · ${texts.product}`}</title>
      <link
        rel="icon"
        href={icon === null ? '/console/assets/icon.svg' : MARK_PATH}
        type={icon?.type ?? 'image/svg+xml'}
      />
      <link rel="stylesheet" href="/console/assets/console.css" />
      {site.color === null ? null : <link rel="stylesheet" href="/console/assets/site.css" />}
    </>
  );
}

/** @param href where the name leads */
export function Brand({ site, texts, href }: SiteParts & { readonly href: string }) {
  const picture = site.logo === null ? MARK_PATH : LOGO_PATH;
  return (
    <a class={iconOf(site) === null ? 'brand' : 'brand with-logo'} href={href}>
      {iconOf(site) === null ? null : <img src={picture} alt="" />}
      {texts.product}
    </a>
  );
}

export function Announcement({ site: { announcement }, texts }: SiteParts) {
  return announcement === null ? null : (
    <p class="announcement" role="note">
      {inLanguage(announcement, texts)}
    </p>
  );
}

/** The links of every page without sign-in: to the guide, the status, and those of the operator. */
export function SiteFooter({ site: { links, documents, support }, texts }: SiteParts) {
  const { site: messages, status } = texts;
  const all: readonly (readonly [label: string, href: string])[] = [
    [messages.docs, DOCS_PATH],
    [status.title, '/status'],
    ...links.map(({ label, url }) => [inLanguage(label, texts), url] as const),
    ...documents.map(({ name }) => [messages[name], `/${name}`] as const),
    ...(support === null
      ? []
      : [[messages.support, support.startsWith('https:') ? support : `mailto:${support}`] as const]),
  ];
  return (
    <footer class="site-links">
      {all.map(([label, href]) => (
        <a href={href}>{label}</a>
      ))}
    </footer>
  );
}

/** The style sheet of a color. The dark style lightens the color, so that it stays readable. */
export function styleSheetOf(color: string): string {
  return `:root {
  --accent: ${color};
  --series-0: ${color};
  --accent-soft: color-mix(in srgb, ${color} 10%, #ffffff);
}
@media (prefers-color-scheme: dark) {
  :root {
    --accent: color-mix(in srgb, ${color} 45%, #ffffff);
    --series-0: color-mix(in srgb, ${color} 60%, #ffffff);
    --accent-soft: color-mix(in srgb, ${color} 35%, #101218);
  }
}
`;
}
