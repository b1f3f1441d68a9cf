/** Tasks of a drill of vendors, each with a mark by which the simulator counts its renders. */
import { randomUUID } from 'node:crypto';
import Joi from 'joi';
import { dataReader } from '../../stack/answers.ts';
import { ask } from '../../stack/client.ts';
import type { VendorFault } from './faults.ts';
import type { Product } from './products.ts';

export interface VendorOrder {
  readonly product: Product;
  readonly fault: VendorFault;
  /** The possible outcomes of the task. */
  readonly endings: readonly string[];
  readonly mark: string;
  readonly taskId: string;
}

export interface Counter {
  readonly apiUrl: string;
  readonly apiKey: string;
}

const readTask = dataReader<{ id: string }>({ id: Joi.string() });

/**
 * @param furtherEndings possible outcomes beside those of the fault
 * @throws Error when the task is refused
 */
export async function placeOrder(
  { apiUrl, apiKey }: Counter,
  product: Product,
  fault: VendorFault,
  furtherEndings: readonly string[] = [],
): Promise<VendorOrder> {
  const mark = randomUUID();
  const directives = [`mark=${mark}`, fault.directive].filter((word) => word !== '');
  const { status, text } = await ask(`${apiUrl}/v1/${product.kind}s/tasks`, {
    token: apiKey,
    body: { model: product.model, prompt: `A lighthouse [sim:${directives.join(',')}]` },
  });
  if (status !== 201) throw new Error(`${product.model} was refused with ${status}: ${text}`);
  const { id } = readTask(text);
  return { product, fault, endings: [...fault.endings(product), ...furtherEndings], mark, taskId: id };
}

/** Selects the faults that can happen to a product. */
export function faultsOf(product: Product, faults: readonly VendorFault[]): readonly VendorFault[] {
  return faults.filter(({ isOfJobs = false }) => !isOfJobs || product.traits.answers === 'job');
}
