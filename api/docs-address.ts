/** The addresses of the pages for developers. */
import type { Tag } from './openapi/operation.ts';

/** The path of the guide. The reference and the assets are below it. */
export const DOCS_PATH = '/docs';

/** The path of the reference of the API for clients. */
export const REFERENCE_PATH = `${DOCS_PATH}/api`;

/** The files of examples that need one. */
export const EXAMPLE_PICTURE_PATH = `${DOCS_PATH}/example.png`;
export const EXAMPLE_SPEECH_PATH = `${DOCS_PATH}/example.wav`;

/**
 * The address that opens the endpoints with a tag.
 * https://swagger.io/docs/open-source-tools/swagger-ui/usage/deep-linking/
 */
export function docsOf(tag: Tag): string {
  return `${REFERENCE_PATH}#/${encodeURIComponent(tag)}`;
}
