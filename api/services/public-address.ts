/** Where the name in a link leads, asked once at the moment the link is given to us. */
import { badRequest } from '../../domain/errors.ts';
import { permitsAddress, withoutBrackets } from '../../net/public-url.ts';
import { type Resolve, resolveWithSystem } from '../../net/guarded-connector.ts';

const RESOLVE_TIMEOUT_MS = 3_000;

/**
 * Makes the check of the names in webhook links. It spares people a mistake; what protects the network is the guarded client,
 * which checks every connection anew. A name that does not resolve yet passes: its owner may be about to set it up.
 *
 * @returns a function that throws ServiceError `bad_request` for a link whose name leads to an address that is not public
 */
export function createAddressCheck({
  allowPrivateAddresses,
  resolve = resolveWithSystem,
}: {
  allowPrivateAddresses: boolean;
  resolve?: Resolve;
}): (url: string) => Promise<void> {
  return async (url) => {
    const addresses = await withinTimeout(resolve(withoutBrackets(new URL(url).hostname)));
    if (!addresses.every((address) => permitsAddress(address, { allowPrivateAddresses }))) {
      throw badRequest('"url" must be a public HTTPS URL');
    }
  };
}

/** What was found in time; nothing when the name server failed or was slow. */
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
