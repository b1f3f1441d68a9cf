/** Merges of accounts as operators see them. */
import type { AccountMerge } from '../../db/queries/account-merges.ts';
import { MERGE_STATUSES, mergeStatusOf } from '../../domain/account-merge.ts';
import * as field from '../../domain/resource/field.ts';
import { resource } from '../../domain/resource/resource.ts';

export const ACCOUNT_MERGE = resource<AccountMerge>('AccountMerge', {
  id: field.id('accountMerge')('id'),
  object: field.constant('account_merge'),
  account_id: field.id('account')('sourceId', 'The account whose money moves, and which is closed'),
  target_account_id: field.id('account')('targetId', 'The account that gets the money'),
  merge_status: field.oneOf(MERGE_STATUSES)(
    mergeStatusOf,
    '`moving` until nothing of the account is on hold any more. Money that reaches the account later is moved, too',
  ),
  reason: field.text('reason'),
  author: field.text('author', 'The person who requested the merge'),
  created_at: field.isoTime('createdAt', 'When the merge was requested'),
  expires_at: field.isoTime('expiresAt', 'Until when a second person can approve the merge'),
  decided_by: field.text.orNull('decidedBy', 'The person who approved, rejected or withdrew the merge'),
  decided_at: field.isoTime.orNull('decidedAt', 'When the merge was approved, rejected or withdrawn'),
  completed_at: field.isoTime.orNull('completedAt', 'When nothing of the account was on hold any more'),
});
