/** Reads the prices, the months and the tasks of the account of a member's visit. */
import { existingAccount } from '../../services/people/existing-account.ts';
import type { ApiServices } from '../../api/services.ts';
import { findPlannedVersions } from '../../db/queries/price-lists.ts';
import { findAccountTask } from '../../db/queries/tasks.ts';
import { isId } from '../../domain/ids.ts';
import type { Task } from '../../domain/task.ts';
import type { PriceList } from '../../domain/price-list.ts';
import { requireFound, type MemberVisit } from '../page.ts';
import { monthsBetween } from './usage/period.ts';

/** The price list that the account pays now; null for the prices of the catalogue. */
export async function findOwnPriceList(
  { account: { accountId } }: MemberVisit,
  { database, clock, money: { findPrices } }: Pick<ApiServices, 'database' | 'clock' | 'money'>,
): Promise<PriceList | null> {
  return findPrices({ prices: await findPlannedVersions(database, accountId) }, clock.nowMs());
}

/** Returns the months since the account was created, latest first. */
export async function listOwnMonths(
  { account: { accountId } }: MemberVisit,
  { database, clock }: ApiServices,
): Promise<readonly string[]> {
  const { createdAt } = await existingAccount(database, accountId);
  return monthsBetween(createdAt, new Date(clock.nowMs()));
}

/** @throws ServiceError `not_found` */
export async function findOwnTask(
  { account, params }: Pick<MemberVisit, 'account' | 'params'>,
  { database }: Pick<ApiServices, 'database'>,
): Promise<Task> {
  const { task_id: taskId = '' } = params;
  return requireFound(isId('task', taskId) ? await findAccountTask(database, account.accountId, taskId) : null);
}
