/** The operator's documents, written in Markdown. */
import { raw } from 'hono/html';
import type { SiteDocumentName } from '../../catalogue/site.ts';
import { inLanguage } from '../texts/texts.ts';
import { markdown } from './markdown.ts';
import type { PublicPage } from './page.ts';

/** The page of a document. */
function documentPage(name: SiteDocumentName): PublicPage {
  return {
    path: `/${name}`,
    show: ({ texts, site }) => {
      const document = site.documents.find((one) => one.name === name);
      if (document === undefined) return null;
      return {
        title: texts.site[name],
        content: (
          <>
            <p class="soft">{texts.site.version(document.version)}</p>
            <div class="prose">{raw(markdown.render(inLanguage(document.text, texts)))}</div>
          </>
        ),
      };
    },
  };
}

export const documentPages = [documentPage('terms'), documentPage('privacy')];
