/** Tasks of a drill of vendors, each with a mark by which the simulator counts its renders. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import Joi from 'joi';
import { dataReader } from '../../stack/answers.ts';
import { type Answer, ask, type Question } from '../../stack/client.ts';
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

const MAX_ATTEMPTS = 10;
const RETRY_MS = 2_000;

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
  const { status, text } = await askPatiently(`${apiUrl}/v1/${product.kind}s/tasks`, {
    token: apiKey,
    body: { model: product.model, prompt: `A lighthouse [sim:${directives.join(',')}]` },
  });
  if (status !== 201) throw new Error(`${product.model} was refused with ${status}: ${text}`);
  const { id } = readTask(text);
  return { product, fault, endings: [...fault.endings(product), ...furtherEndings], mark, taskId: id };
}

/** Asks again while the process is overloaded: all orders arrive at once. */
async function askPatiently(url: string, question: Question): Promise<Answer> {
  for (let attempt = 1; ; attempt += 1) {
    const answer = await ask(url, question);
    if (answer.status !== 503 || attempt === MAX_ATTEMPTS) return answer;
    await sleep(RETRY_MS);
  }
}

/** Selects the faults that can happen to a product. */
export function faultsOf(product: Product, faults: readonly VendorFault[]): readonly VendorFault[] {
  return faults.filter(({ isOfJobs = false }) => !isOfJobs || product.traits.answers === 'job');
}
