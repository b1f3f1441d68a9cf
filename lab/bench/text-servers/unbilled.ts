/** The text process without billing: it measures the cost of everything else. */
import type { TextBillingService } from '../../../db/text-money/create-billing.ts';
import { UNREPORTED_USAGE } from '../../../text/canonical.ts';
import { serveBareText } from './bare-text.ts';

const free: TextBillingService = {
  ready: async () => {},
  ping: async () => {},
  hold: async ({ uncounted }) => {
    await uncounted?.count();
    return {
      maxOutputTokens: null,
      charged: ({ usage }) => usage ?? UNREPORTED_USAGE,
      holdPrompt: async () => true,
      textRequestId: 'free',
      settle: async () => {},
      release: () => {},
    };
  },
  close: async () => {},
};

await serveBareText(free);
