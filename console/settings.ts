import type { ApiServices } from '../api/services/services.ts';
import type { ConsoleSettings } from './page.ts';

/** Results may be shown from wherever links to stored files lead. */
export function consoleSettings({ storage }: Pick<ApiServices, 'storage'>): ConsoleSettings {
  return { fileOrigins: [new URL(storage.urlOf('results')).origin], topUpUrl: null };
}
