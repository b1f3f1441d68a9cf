/** The reference pages: Swagger UI over a part of the API description each, all of it from this host. */

import type { DescriptionPart } from '../../openapi/parts.ts';

/** Where the page and what it loads stand. */
export const DOCS_PATH = '/docs';
export const DESCRIPTION_PATH = '/openapi.json';

/** What the page may load. Swagger UI carries small pictures in its style sheet and sets a few styles on elements. */
export const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** Where each page stands, the name of what it shows, and where the other one is. */
const PAGES = {
  client: { title: 'Genway API', other: `${DOCS_PATH}/administration`, link: 'Administration' },
  administration: { title: 'Genway administration', other: DOCS_PATH, link: 'Calls of clients' },
} as const;

export const pageOf = (part: DescriptionPart): string => `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>${PAGES[part].title}</title>
    <link rel="icon" href="${DOCS_PATH}/favicon-32x32.png" />
    <link rel="stylesheet" href="${DOCS_PATH}/swagger-ui.css" />
    <link rel="stylesheet" href="${DOCS_PATH}/page.css" />
    <script src="${DOCS_PATH}/swagger-ui-bundle.js" defer></script>
    <script src="${DOCS_PATH}/${part}.js" defer></script>
  </head>
  <body>
    <nav><a href="${PAGES[part].other}">${PAGES[part].link}</a></nav>
    <div id="reference"></div>
    <noscript>The description itself is at <a href="${DESCRIPTION_PATH}">${DESCRIPTION_PATH}</a>.</noscript>
  </body>
</html>
`;

/** Keys that are entered stay in the page, and nobody else is asked whether the description is valid. */
export const scriptOf = (part: DescriptionPart): string => `SwaggerUIBundle({
  url: '${DOCS_PATH}/${part}.json',
  dom_id: '#reference',
  deepLinking: true,
  filter: true,
  defaultModelsExpandDepth: 0,
  persistAuthorization: false,
  validatorUrl: null,
});
`;

export const PAGE_STYLE = `body { margin: 0; }
nav { padding: 1em; text-align: right; font-family: sans-serif; }
`;
