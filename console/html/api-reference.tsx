/** Links to the reference of the API, which is in English in every language of the console. */
import { DOCS_PATH, docsOf } from '../../api/routes/docs/page.ts';
import type { Tag } from '../../api/openapi/operation.ts';
import { useTexts } from './page-context.ts';

/** @param tag of the endpoints that the link leads to; all of them by default */
export function ApiReference({ tag }: { tag?: Tag }) {
  const { common } = useTexts();
  return (
    <p class="reference">
      <a href={tag === undefined ? DOCS_PATH : docsOf(tag)} hreflang="en">
        {common.apiReference}
      </a>
    </p>
  );
}
