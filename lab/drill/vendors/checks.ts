/** The checks after a drill of vendors. */
import type { VertexMedia } from '../../stack/clouds/vertex-media.ts';
import type { CheckResult } from '../checks/check.ts';
import type { Outcome } from './outcomes.ts';
import { nameOf, type Product, VENDORS } from './products.ts';

const ENDED: readonly string[] = ['succeeded', 'failed', 'cancelled'];

/** @param kills how often the worker was killed inside a submission or a render of each product */
export function checkVendors(
  outcomes: readonly Outcome[],
  products: readonly Product[],
  { kills, leastKills }: { kills: ReadonlyMap<string, number>; leastKills: number },
): readonly CheckResult[] {
  return [
    {
      promise: 'every vendor with an adapter was asked',
      failures: VENDORS.filter((name) => !products.some(({ provider }) => provider === name)).map(
        (name) => `catalogue/vendors.yaml sells nothing of ${name}`,
      ),
    },
    {
      promise: `the worker was killed inside a submission or a render of each ${leastKills} times`,
      failures: products
        .map((product) => ({ name: nameOf(product), count: kills.get(nameOf(product)) ?? 0 }))
        .flatMap(({ name, count }) => (count < leastKills ? [`${name}: ${count} times`] : [])),
    },
    {
      promise: 'no task was rendered more than once',
      failures: failuresIn(outcomes, ({ renders }) => renders.length > 1 && `${renders.length} renders`),
    },
    {
      promise: 'each task has ended as it may',
      failures: failuresIn(outcomes, ({ ending, order }) => !order.endings.includes(ending) && ending),
    },
    {
      promise: 'each task has exactly one resolution: a charge where it succeeded, else a refund',
      failures: failuresIn(outcomes, ({ ending, resolutions }) => {
        const expected = ending === 'succeeded' ? 'settlement' : 'refund';
        return (
          (resolutions.length !== 1 || resolutions[0] !== expected) && `${ending}: ${resolutions.join(', ') || 'none'}`
        );
      }),
    },
    {
      promise: 'what succeeded was rendered',
      failures: failuresIn(
        outcomes,
        ({ ending, renders }) => ending === 'succeeded' && renders.length === 0 && 'no render',
      ),
    },
    {
      promise: 'of each submission it is written down what became of it',
      failures: failuresIn(outcomes, ({ open }) => open > 0 && `${open} open`),
    },
    {
      promise: 'no vendor that can be asked to stop still renders for a task that has ended',
      failures: failuresIn(
        outcomes,
        ({ order, renders }) => order.product.isStoppable && renders.find((state) => !ENDED.includes(state)),
      ),
    },
  ];
}

/** A worker that starts again fetches a new token. */
export function checkTokens({ issued, served, refused }: VertexMedia): CheckResult {
  const wrong = refused.length === 0 ? [] : [`${refused.length} requests without one, such as ${refused[0]}`];
  return {
    promise: 'each request to Vertex AI and Cloud Storage had a valid token',
    failures: issued.google === 0 || served.length === 0 ? ['no token was fetched', ...wrong] : wrong,
  };
}

function failuresIn(outcomes: readonly Outcome[], failure: (outcome: Outcome) => string | false | undefined): string[] {
  return outcomes.flatMap((outcome) => {
    const { product, fault, taskId } = outcome.order;
    const said = failure(outcome);
    return said === false || said === undefined ? [] : [`${taskId}, ${nameOf(product)}, ${fault.name}: ${said}`];
  });
}

/** Whether no work for a task is in progress. */
export function isQuiet({ order, ending, open, renders }: Outcome): boolean {
  const isStopped = !order.product.isStoppable || renders.every((state) => ENDED.includes(state));
  return ending !== 'queued' && ending !== 'processing' && open === 0 && isStopped;
}
