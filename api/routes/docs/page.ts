/** The reference pages: Swagger UI for each part of the API description, served entirely from this host. */

import type { DescriptionPart } from '../../openapi/parts.ts';
import { DOCS_PATH, REFERENCE_PATH } from '../../docs-address.ts';

export const DESCRIPTION_PATH = '/openapi.json';

/** The sources that the pages may load from. Swagger UI has images in its style sheet, and sets inline styles. */
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

/** The path and title of each page, and its link to the other. */
const PAGES = {
  client: { title: 'API', other: `${DOCS_PATH}/administration`, link: 'Administration' },
  administration: { title: 'administration', other: REFERENCE_PATH, link: 'Client API' },
} as const;

/** @param name that of the service */
export const pageOf = (part: DescriptionPart, name: string): string => `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>${name.replaceAll(/[&<]/g, (character) => `&#${character.codePointAt(0)};`)} ${PAGES[part].title}</title>
    <link rel="icon" href="${DOCS_PATH}/favicon-32x32.png" />
    <link rel="stylesheet" href="${DOCS_PATH}/swagger-ui.css" />
    <link rel="stylesheet" href="${DOCS_PATH}/page.css" />
    <script src="${DOCS_PATH}/swagger-ui-bundle.js" defer></script>
    <script src="${DOCS_PATH}/${part}.js" defer></script>
  </head>
  <body>
    <nav><a href="${DOCS_PATH}">Guide</a> <a href="${PAGES[part].other}">${PAGES[part].link}</a></nav>
    <div id="reference"></div>
    <noscript>The description itself is at <a href="${DESCRIPTION_PATH}">${DESCRIPTION_PATH}</a>.</noscript>
  </body>
</html>
`;

/** The page stores no entered keys, and no outside service validates the description. */
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
