/** The products of a drill of vendors: one model of catalogue/vendors.yaml for each vendor and kind of media. */
import { fileURLToPath } from 'node:url';
import { loadCatalogue } from '../../../catalogue/load.ts';
import type { KindTraits } from '../../../providers/media/adapter.ts';
import { MEDIA_PROTOCOL_NAMES, MEDIA_PROTOCOLS } from '../../../providers/media/protocols.ts';

export const CATALOGUE_OF_VENDORS = fileURLToPath(new URL('../../../catalogue/vendors.yaml', import.meta.url));

export interface Product {
  /** The upstream, which is named as its protocol. */
  readonly provider: string;
  readonly kind: 'image' | 'video';
  readonly model: string;
  readonly traits: KindTraits;
  /** Whether the vendor can cancel a render. */
  readonly isStoppable: boolean;
}

/** The vendors: every protocol but Genway's own. */
export const VENDORS: readonly string[] = MEDIA_PROTOCOL_NAMES.filter((name) => name !== 'http-jobs');

/** Vendors that cancel only renders that have not started. */
const STOPS_WHAT_WAITS: readonly string[] = ['ark', 'dashscope', 'minimax'];

/** The first model of each vendor and kind that only this vendor renders. */
export function vendorProducts(): readonly Product[] {
  const { videoModels, imageModels } = loadCatalogue(CATALOGUE_OF_VENDORS);
  const sold = [...videoModels.values(), ...imageModels.values()].filter(({ routes }) => routes.length === 1);
  return MEDIA_PROTOCOL_NAMES.filter((name) => VENDORS.includes(name)).flatMap((provider) => {
    const adapter = MEDIA_PROTOCOLS[provider];
    return (['video', 'image'] as const).flatMap((kind) => {
      const model = sold.find((one) => one.kind === kind && one.routes[0].provider === provider);
      const traits = adapter.kinds[kind];
      return model && traits
        ? [
            {
              provider,
              kind,
              model: model.id,
              traits,
              isStoppable: 'cancel' in adapter && !STOPS_WHAT_WAITS.includes(provider),
            },
          ]
        : [];
    });
  });
}

export function nameOf({ provider, kind }: Pick<Product, 'provider' | 'kind'>): string {
  return `${provider} ${kind}`;
}
