/** The operator's cost of a render: as the upstream reported it, or as configured with the route. */
import { imageTierOf } from './image-size.ts';
import type { RouteCost, VendorCost } from './media-route.ts';
import { type PicoUsd, PICO_PER_USD } from './money.ts';
import { modifyPrice } from './pricing.ts';
import type { RenderInputs } from './task.ts';

/** The unit of upstreams that report their charge in money. */
const USD = 'usd';
/** The key for any other resolution. */
const ANY_RESOLUTION = '*';

/** @returns pico-USD, rounded down; null if the cost is unknown */
export function renderCost(
  inputs: Pick<RenderInputs, 'resolution' | 'durationSeconds' | 'width' | 'height' | 'parameters'>,
  { reported, written }: { readonly reported: VendorCost | null; readonly written: RouteCost | null },
): PicoUsd | null {
  if (reported?.unit === USD) return multiply(reported.amount, PICO_PER_USD);
  if (!written) return null;
  if (written.per === 'unit') {
    const price = reported && written.prices[reported.unit];
    return price ? multiply(reported.amount, BigInt(price)) : null;
  }
  const price = written.prices[resolutionOf(inputs)] ?? written.prices[ANY_RESOLUTION];
  if (price === undefined) return null;
  const cost = modifyPrice(BigInt(price), written.modifiers ?? [], inputs.parameters);
  return written.per === 'render' ? cost : cost * BigInt(inputs.durationSeconds ?? 1);
}

/** Returns the billing tier for images. */
function resolutionOf({ resolution, width, height }: Pick<RenderInputs, 'resolution' | 'width' | 'height'>): string {
  if (resolution !== undefined) return resolution;
  return width === undefined || height === undefined ? ANY_RESOLUTION : imageTierOf({ width, height });
}

/** @param amount a decimal, such as `0.0421` */
function multiply(amount: string, price: bigint): bigint {
  const match = /^(\d{1,18})(?:\.(\d{1,18}))?$/.exec(amount);
  if (!match) return 0n;
  const [, whole = '0', fraction = ''] = match;
  return (BigInt(whole + fraction) * price) / 10n ** BigInt(fraction.length);
}
