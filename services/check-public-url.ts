/** Checks the URLs that clients give for webhooks and moderation: their syntax, and the addresses of their host. */
import { badRequest, type ServiceError } from '../domain/errors.ts';
import { isPermittedAddress, isPublicHttpsUrl, withoutBrackets } from '../providers/guard/public-url.ts';
import { type Resolve, resolveWithSystem } from '../providers/guard/guarded-connector.ts';

const RESOLVE_TIMEOUT_MS = 3_000;

function refusal(): ServiceError {
  return badRequest('"url" must be a public HTTPS URL', { path: ['url'], kind: 'link.refused', values: {} });
}

/**
 * Creates the check. The check only reports mistakes early; the network is protected by the
 * guarded client, which checks every connection. A host that does not resolve yet passes: its owner may be about to set
 * it up.
 *
 * @returns a function that throws ServiceError `bad_request` for a link that is not public, or whose host resolves to a
 *   private address
 */
export function createPublicUrlCheck({
  allowPrivateAddresses,
  resolve = resolveWithSystem,
}: {
  allowPrivateAddresses: boolean;
  resolve?: Resolve;
}): (url: string) => Promise<void> {
  return async (url) => {
    if (!isPublicHttpsUrl(url, { allowPrivateAddresses })) throw refusal();
    const addresses = await withinTimeout(resolve(withoutBrackets(new URL(url).hostname)));
    if (!addresses.every((address) => isPermittedAddress(address, { allowPrivateAddresses }))) {
      throw refusal();
    }
  };
}

/** The addresses found in time; none if the name server failed or was slow. */
async function withinTimeout(resolved: Promise<readonly string[]>): Promise<readonly string[]> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<readonly string[]>((give) => {
    timer = setTimeout(() => give([]), RESOLVE_TIMEOUT_MS);
  });
  try {
    return await Promise.race([resolved.catch(() => []), late]);
  } finally {
    clearTimeout(timer);
  }
}
