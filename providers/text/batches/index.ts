import { NATIVE_BATCH_FORMATS } from '../../../catalogue/types.ts';
import type { UpstreamFormatName } from '../../../domain/wire-format-name.ts';
import { anthropicBatches } from './anthropic.ts';
import { googleBatches } from './google.ts';
import { openaiBatches } from './openai.ts';
import type { BatchVendor } from './vendor.ts';

const VENDORS: Readonly<Record<(typeof NATIVE_BATCH_FORMATS)[number], BatchVendor>> = {
  'chat-completions': openaiBatches,
  responses: openaiBatches,
  messages: anthropicBatches,
  'generate-content': googleBatches,
};

/** @throws Error for a format without batches, which the check of the catalogue refuses */
export function batchVendorOf(format: UpstreamFormatName): BatchVendor {
  const name = NATIVE_BATCH_FORMATS.find((known) => known === format);
  if (name === undefined) throw new Error(`upstreams of the format ${format} have no batches`);
  return VENDORS[name];
}
