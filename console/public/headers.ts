/**
 * The headers of the pages for everybody, which have no scripts.
 *
 * @param formAction where the forms of the page may lead
 */
export function publicHeaders(formAction: "'none'" | "'self'"): Readonly<Record<string, string>> {
  return {
    'Content-Security-Policy': `default-src 'none'; style-src 'self'; img-src 'self'; font-src 'self'; form-action ${formAction}; frame-ancestors 'none'; base-uri 'none'`,
    'X-Content-Type-Options': 'nosniff',
    'Referrer-Policy': 'same-origin',
    Vary: 'Accept-Language',
  };
}
