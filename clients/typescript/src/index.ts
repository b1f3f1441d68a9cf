export * from './client.ts';
export * from './errors.ts';
export type { ClientOptions, RequestOptions } from './http.ts';
export type { List, Page } from './pages.ts';
export type { CreatedTask, WaitOptions } from './tasks.ts';
export type * from './types.ts';
export type { Uploadable } from './uploads.ts';
export { verifyWebhook, type WebhookEvent } from './webhooks.ts';
