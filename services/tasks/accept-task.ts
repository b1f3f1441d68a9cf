import type { Caller } from '../../db/queries/api-keys.ts';
import { assertAllowedModel, assertNotExhausted } from '../../domain/api-key.ts';
import { assertToppedUp, type CreateTaskRequest, type PricedTaskRequest } from './create-task.ts';
import { textsIn } from '../../domain/model-parameters.ts';
import { priceOf } from '../money/customer-prices.ts';
import type { CreatedResponse, IdempotencyClaim } from './idempotency.ts';
import type { ModerationServices, MoneyServices, OperationsServices, Services, TaskServices } from '../services.ts';

/** Checks the content behind links. */
export type CheckLinks = (links: readonly string[]) => Promise<void>;

/** The place of a task among equal tasks of one request. */
export interface Series {
  readonly index: number;
  readonly count: number;
}

interface TaskToAccept {
  readonly caller: Caller;
  readonly request: CreateTaskRequest;
  readonly claim: IdempotencyClaim | null;
  readonly requestId: string;
  /** Inputs are checked for the first task alone. */
  readonly series?: Series;
}

/** The services that create a task. */
export interface AcceptServices extends Pick<Services, 'clock'> {
  readonly tasks: Pick<TaskServices, 'createTask' | 'assertAffordable'>;
  readonly money: Pick<MoneyServices, 'findPrices'>;
  readonly moderation: Pick<ModerationServices, 'moderate'>;
  readonly operations: Pick<OperationsServices, 'models'>;
}

/** Creates a task for a valid request of any endpoint. @throws ServiceError that says why nothing was created */
export async function acceptTask(
  { caller, request, claim, requestId, series = { index: 0, count: 1 } }: TaskToAccept,
  services: AcceptServices,
  checkLinks?: CheckLinks,
): Promise<CreatedResponse & { readonly taskId: string }> {
  assertNotExhausted(caller.key);
  assertAllowedModel(caller.key, request.model.id);
  assertToppedUp(caller, request.model.id);
  services.operations.models.assertEnabled(request.model.id);
  const prices = await services.money.findPrices(caller.account, services.clock.nowMs());
  const priced = { ...request, price: priceOf(request, prices), priceList: prices?.id ?? null };
  if (series.index === 0) await checkInputs({ caller, request: priced, count: series.count }, services, checkLinks);
  return services.tasks.createTask(caller, priced, requestId, claim);
}

async function checkInputs(
  { caller, request, count }: { caller: Caller; request: PricedTaskRequest; count: number },
  services: AcceptServices,
  checkLinks?: CheckLinks,
): Promise<void> {
  const { prompt, images = [], parameters, parameterLinks = [] } = request.render;
  const links = [...images, ...parameterLinks];
  // No outside service learns of a request that the account cannot pay.
  if (count > 1 || services.moderation.moderate || (checkLinks && links.length > 0)) {
    await services.tasks.assertAffordable(caller, request, count);
  }
  await checkLinks?.(links);
  const texts = textsIn(parameters).filter((text) => !parameterLinks.includes(text));
  await services.moderation.moderate?.({ prompt: [prompt, ...texts].join('\n'), images: links });
}
