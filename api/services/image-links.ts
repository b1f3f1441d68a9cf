/** The check of image links at creation: specification section 4.3. */
import { setMaxListeners } from 'node:events';
import { badRequest } from '../../domain/errors.ts';
import { readImageHeader } from '../../storage/image-header.ts';
import type { GuardedClient } from '../../webhooks/address-guard.ts';

/** Far more than a header needs, save for photographs that carry previews and editing history before their dimensions. */
const MAX_HEADER_BYTES = 512 * 1024;
const MAX_REDIRECTS = 3;
const TIMEOUT_MS = 10_000;

const NOT_AN_IMAGE = 'must be a PNG, JPEG or WebP image';
/** What the guarded client's errors say of a link, by name; any other is one of the network. */
const PROBLEMS: Readonly<Record<string, string>> = {
  AddressRefusedError: 'must be a public HTTPS URL',
  BodyTooLargeError: NOT_AN_IMAGE,
  TimeoutError: 'could not be fetched: its server did not answer in time',
  TooManyRedirectsError: 'could not be fetched: its server redirected too often',
};

/**
 * Checks that each link leads to a PNG, JPEG or WebP image, by its content, reading only its header. All links are asked at
 * once (a request has at most 16); the first that fails ends the check of the others.
 *
 * @param options `timeoutMs` for all links together, 10 seconds when absent
 * @throws ServiceError `bad_request` that names the field `images[<i>]`
 */
export async function checkImageLinks(
  urls: readonly string[],
  client: GuardedClient,
  { timeoutMs = TIMEOUT_MS }: { readonly timeoutMs?: number } = {},
): Promise<void> {
  const failed = new AbortController();
  // One listener a link, above the number that Node takes for a leak.
  setMaxListeners(0, failed.signal);
  const checks = urls.map(async (url, index) => {
    const problem = await findProblem(url, client, { timeoutMs, signal: failed.signal });
    if (problem !== null) throw badRequest(`"images[${index}]" ${problem}`);
  });
  try {
    await Promise.all(checks);
  } finally {
    failed.abort();
  }
}

/** What is wrong with a link, as the end of a sentence, or null. */
async function findProblem(
  url: string,
  client: GuardedClient,
  limits: { readonly timeoutMs: number; readonly signal: AbortSignal },
): Promise<string | null> {
  try {
    const response = await client.request(url, {
      headers: { accept: 'image/png, image/jpeg, image/webp', range: `bytes=0-${MAX_HEADER_BYTES - 1}` },
      maxBytes: MAX_HEADER_BYTES,
      redirects: MAX_REDIRECTS,
      ...limits,
    });
    if (response.status !== 200 && response.status !== 206) {
      await response.body.cancel();
      return `could not be fetched: its server answered with status ${response.status}`;
    }
    const header = await readImageHeader(response.body);
    return header === null ? NOT_AN_IMAGE : null;
  } catch (error) {
    return PROBLEMS[error instanceof Error ? error.name : ''] ?? 'could not be fetched: its server cannot be reached';
  }
}
