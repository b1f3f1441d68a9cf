/** How much of the wire formats a text model honours. The operator's catalogue decides. */

/**
 * `specification`: fields that the contract accepts without effect have none, and what it does not support is refused.
 * `full`: every field has an effect that the canonical model can carry (docs/clients.md).
 */
export const COMPATIBILITIES = ['specification', 'full'] as const;
export type Compatibility = (typeof COMPATIBILITIES)[number];
