/** The addresses of the reference pages. */
import type { Tag } from './openapi/operation.ts';

/** The path of the pages and their assets. */
export const DOCS_PATH = '/docs';

/**
 * The address that opens the endpoints with a tag.
 * https://swagger.io/docs/open-source-tools/swagger-ui/usage/deep-linking/
 */
export function docsOf(tag: Tag): string {
  return `${DOCS_PATH}#/${encodeURIComponent(tag)}`;
}
