/** The reference page: Swagger UI over the API description, all of it from this host. */

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

export const PAGE = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>Genway API</title>
    <link rel="icon" href="${DOCS_PATH}/favicon-32x32.png" />
    <link rel="stylesheet" href="${DOCS_PATH}/swagger-ui.css" />
    <link rel="stylesheet" href="${DOCS_PATH}/page.css" />
    <script src="${DOCS_PATH}/swagger-ui-bundle.js" defer></script>
    <script src="${DOCS_PATH}/page.js" defer></script>
  </head>
  <body>
    <div id="reference"></div>
    <noscript>The description itself is at <a href="${DESCRIPTION_PATH}">${DESCRIPTION_PATH}</a>.</noscript>
  </body>
</html>
`;

/** Keys that are entered stay in the page, and nobody else is asked whether the description is valid. */
export const PAGE_SCRIPT = `SwaggerUIBundle({
  url: '${DESCRIPTION_PATH}',
  dom_id: '#reference',
  deepLinking: true,
  filter: true,
  defaultModelsExpandDepth: 0,
  persistAuthorization: false,
  validatorUrl: null,
});
`;

export const PAGE_STYLE = `body { margin: 0; }
`;
