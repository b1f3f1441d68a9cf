/** A page for everybody. */
import type { Child } from 'hono/jsx';
import type { ApiServices } from '../../api/services.ts';
import type { Visit } from '../page.ts';

export interface PublicPage {
  /** With parameters such as `:model`. */
  readonly path: string;
  /** @returns null if the site has no such page */
  readonly show: (visit: Visit, services: ApiServices) => PublicContent | null;
}

export interface PublicContent {
  readonly title: string;
  /** For search engines and previews of links. */
  readonly description?: string;
  /** The path of a picture for previews of links; the logo by default. */
  readonly picture?: string;
  readonly content: Child;
}
