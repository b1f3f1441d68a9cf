/** How much of the wire formats a text model supports. The operator's catalogue sets it. */

/**
 * `specification`: fields that the contract accepts without effect have no effect, and unsupported fields are refused.
 * `full`: every field has an effect that the canonical model can carry (docs/clients.md).
 */
export const COMPATIBILITIES = ['specification', 'full'] as const;
export type Compatibility = (typeof COMPATIBILITIES)[number];
