import { useVendorStack } from '../../support/vendors.ts';
import { describeFal } from './fal.ts';
import { describeGoogle } from './google.ts';
import { describeReplicate } from './replicate.ts';

/** Without callbacks, some of their lost answers stay lost. */
describe('at vendors that report by callbacks', () => {
  const stack = useVendorStack({ env: { GENWAY_PROVIDER_CALLBACKS: 'true' } });
  describeFal(stack);
  describeGoogle(stack);
  describeReplicate(stack);
});
