/** The shapes of manual credits. */
import type { CreditedTopUp, TopUp } from '../../db/queries/credits.ts';
import * as field from '../../domain/resource/field.ts';
import { nested } from '../../domain/resource/resource.ts';

export const CREDITED_TOP_UP = nested<CreditedTopUp>({
  amount_usd: field.usd('amount', 'The amount credited'),
  reference: field.text('reference'),
  created_at: field.unixSeconds('createdAt', 'When the amount was credited'),
});

export const TOP_UP = nested<TopUp & { readonly accountId: string; readonly reference: string }>({
  id: field.id('transfer')('transferId'),
  object: field.constant('topup'),
  account_id: field.id('account')('accountId'),
  ...CREDITED_TOP_UP.fields,
  applied: field.boolean('applied', 'False if the reference was credited by an earlier call'),
});
