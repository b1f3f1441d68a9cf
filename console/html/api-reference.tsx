/** Links to the reference of the API, which is always in English. */
import { docsOf, REFERENCE_PATH } from '../../api/docs-address.ts';
import type { Tag } from '../../api/openapi/operation.ts';
import { useTexts } from './page-context.ts';

/** @param tag the group of endpoints to which the link leads; by default, all endpoints */
export function ApiReference({ tag }: { tag?: Tag }) {
  const { common } = useTexts();
  return (
    <p class="reference">
      <a href={tag === undefined ? REFERENCE_PATH : docsOf(tag)} hreflang="en">
        {common.apiReference}
      </a>
    </p>
  );
}
