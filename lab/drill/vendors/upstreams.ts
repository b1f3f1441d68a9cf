/** The upstreams of a drill of vendors: the simulated vendors, and Vertex AI with tokens of a service account. */
import { MEDIA_APIS } from '../../../providers/media/protocols.ts';
import type { VertexMedia } from '../../stack/clouds/vertex-media.ts';
import type { SimulatorAccess } from '../../stack/stack.ts';
import { VENDORS } from './products.ts';

/** The content of the file of upstreams. */
export function vendorUpstreams({ url, apiKey, callbackSecret }: SimulatorAccess, vertex: VertexMedia): object {
  const media = MEDIA_APIS.filter(([, protocol]) => VENDORS.includes(protocol)).map(([name, protocol, adapter]) => {
    if (protocol === 'vertex') return vertex.upstream;
    const address = `${url}/vendors/${protocol}`;
    return {
      name,
      protocol,
      base_url: address,
      api_key: apiKey,
      callback_secret: callbackSecret,
      keys_url: `${address}/jwks.json`,
      ...(name !== protocol && { api: name.slice(protocol.length + 1) }),
      ...Object.fromEntries(Object.keys(adapter.addresses ?? {}).map((further) => [`${further}_url`, address])),
    };
  });
  return { media };
}
