import type { Child } from 'hono/jsx';
import type { Answer } from '../../page.ts';

/** A page for strangers. */
export function bare(title: string, content: Child, status = 200): Answer {
  return { kind: 'page', title, content, status, bare: true };
}
