import { expect } from 'chai';
import { array, assert, asyncProperty, integer, nat } from 'fast-check';
import { setImmediate as turn } from 'node:timers/promises';
import { DatabaseError } from 'pg';
import { createBatcher } from '../../db/batcher.ts';
import { OutcomeUnknownError, SilentConnectionError } from '../../db/connections.ts';
import { rejectionOf } from '../support/rejection.ts';
import { casesOf } from '../support/properties.ts';

interface Flush {
  readonly items: readonly number[];
  answer(results: readonly string[]): Promise<void>;
  fail(error: Error): Promise<void>;
}

const refusal = new DatabaseError('refused', 0, 'error');

/** A batcher whose flushes complete when the test ends them. */
function createManualBatcher(options: { maxItems: number; gatherMs?: number }) {
  const flushes: Flush[] = [];
  const batcher = createBatcher<number, string>(
    (items) =>
      new Promise((resolve, reject) => {
        flushes.push({
          items,
          answer: async (results) => {
            resolve(results);
            await turn();
            await turn();
          },
          fail: async (error) => {
            reject(error);
            await turn();
            await turn();
          },
        });
      }),
    options,
  );
  /** Makes the flush of that number succeed. */
  const succeed = async (number: number): Promise<void> => {
    await flushes[number]?.answer(flushes[number].items.map(String));
  };
  return { batcher, flushes, succeed, batches: () => flushes.map(({ items }) => items) };
}

describe('a batcher', () => {
  it('flushes the items of one iteration of the event loop together', async () => {
    const { batcher, batches, succeed } = createManualBatcher({ maxItems: 10 });
    const result = batcher.add(1);
    await turn();
    expect(batches()).to.deep.equal([[1]]);
    await succeed(0);
    expect(await result).to.equal('1');
  });

  it('gathers the calls during a flush, and flushes all of them next', async () => {
    const { batcher, batches, succeed } = createManualBatcher({ maxItems: 10 });
    const first = batcher.add(1);
    await turn();
    const others = Promise.all([2, 3, 4].map((item) => batcher.add(item)));
    await turn();
    expect(batches()).to.deep.equal([[1]]);
    await succeed(0);
    expect(batches()).to.deep.equal([[1], [2, 3, 4]]);
    await succeed(1);
    expect([await first, ...(await others)]).to.deep.equal(['1', '2', '3', '4']);
  });

  it('flushes at most its limit of items, in order', async () => {
    const { batcher, batches, succeed } = createManualBatcher({ maxItems: 2 });
    const results = Promise.all([1, 2, 3, 4, 5].map((item) => batcher.add(item)));
    await turn();
    for (const number of [0, 1, 2]) await succeed(number);
    expect(batches()).to.deep.equal([[1, 2], [3, 4], [5]]);
    await results;
  });

  it('has one flush in flight at a time', async () => {
    const { batcher, batches, succeed } = createManualBatcher({ maxItems: 2 });
    const results = Promise.all([1, 2, 3, 4, 5].map((item) => batcher.add(item)));
    await turn();
    await turn();
    expect(batches()).to.deep.equal([[1, 2]]);
    await succeed(0);
    expect(batches()).to.deep.equal([
      [1, 2],
      [3, 4],
    ]);
    await succeed(1);
    await succeed(2);
    await results;
  });

  describe('with a gathering wait', () => {
    // Longer than any test takes.
    const FOREVER_MS = 60_000;
    const numbers = (from: number, count: number): number[] =>
      Array.from({ length: count }, (_, index) => from + index);

    it('waits for as many calls as the last flush handled and as queued meanwhile, and flushes them once they are there', async () => {
      const { batcher, batches, succeed } = createManualBatcher({ maxItems: 50, gatherMs: FOREVER_MS });
      const add = (items: readonly number[]): Promise<unknown> => Promise.all(items.map((item) => batcher.add(item)));
      const first = add(numbers(0, 6));
      await turn();
      const waiting = add(numbers(6, 3));
      await succeed(0);
      const returning = add(numbers(9, 5));
      await turn();
      expect(batches()).to.deep.equal([numbers(0, 6)]);
      const last = batcher.add(14);
      await turn();
      expect(batches()).to.deep.equal([numbers(0, 6), numbers(6, 9)]);
      await succeed(1);
      await Promise.all([first, waiting, returning, last]);
      // Ends the wait that has just started.
      const rest = add(numbers(20, 9));
      await turn();
      await succeed(2);
      await rest;
    });

    it('does not wait for more calls than a flush needs to be worth its cost', async () => {
      const { batcher, batches, succeed } = createManualBatcher({ maxItems: 100, gatherMs: FOREVER_MS });
      const first = Promise.all(numbers(0, 80).map((item) => batcher.add(item)));
      await turn();
      await succeed(0);
      const next = Promise.all(numbers(80, 32).map((item) => batcher.add(item)));
      await turn();
      expect(batches()).to.deep.equal([numbers(0, 80), numbers(80, 32)]);
      await succeed(1);
      await Promise.all([first, next]);
      const rest = Promise.all(numbers(200, 32).map((item) => batcher.add(item)));
      await turn();
      await succeed(2);
      await rest;
    });

    it('does not wait when only few calls can come', async () => {
      const { batcher, batches, succeed } = createManualBatcher({ maxItems: 50, gatherMs: FOREVER_MS });
      const first = Promise.all(numbers(0, 3).map((item) => batcher.add(item)));
      await turn();
      await succeed(0);
      const next = batcher.add(3);
      await turn();
      expect(batches()).to.deep.equal([numbers(0, 3), [3]]);
      await succeed(1);
      await Promise.all([first, next]);
    });

    it('does not wait for long', async () => {
      const batcher = createBatcher<number, string>(async (batch) => batch.map(String), { maxItems: 50, gatherMs: 1 });
      await Promise.all(numbers(0, 20).map((item) => batcher.add(item)));
      expect(await batcher.add(20)).to.equal('20');
    });
  });

  it('rejects a single call with the error of its flush, and continues', async () => {
    const { batcher, flushes, succeed } = createManualBatcher({ maxItems: 10 });
    const failed = rejectionOf(batcher.add(1));
    await turn();
    await flushes[0]?.fail(refusal);
    expect(await failed).to.equal(refusal);
    const next = batcher.add(2);
    await turn();
    await succeed(1);
    expect(await next).to.equal('2');
  });

  it('tries each item of a refused batch alone, so that one bad item fails only itself', async () => {
    const { batcher, batches, flushes, succeed } = createManualBatcher({ maxItems: 10 });
    const results = Promise.allSettled([1, 2, 3].map((item) => batcher.add(item)));
    await turn();
    await flushes[0]?.fail(refusal);
    await succeed(1);
    await flushes[2]?.fail(refusal);
    await succeed(3);
    expect(batches()).to.deep.equal([[1, 2, 3], [1], [2], [3]]);
    expect((await results).map(({ status }) => status)).to.deep.equal(['fulfilled', 'rejected', 'fulfilled']);
  });

  it('fails a whole batch at once when the database is unreachable, and tries no single item', async () => {
    const { batcher, batches, flushes } = createManualBatcher({ maxItems: 10 });
    const results = Promise.allSettled([1, 2].map((item) => batcher.add(item)));
    await turn();
    await flushes[0]?.fail(new Error('connect ECONNREFUSED'));
    expect((await results).map(({ status }) => status)).to.deep.equal(['rejected', 'rejected']);
    expect(batches()).to.deep.equal([[1, 2]]);
  });

  describe('a batch whose connection was lost', () => {
    const lost = new SilentConnectionError('silent');

    it('is repeated once, by the same flush', async () => {
      const { batcher, batches, flushes, succeed } = createManualBatcher({ maxItems: 10 });
      const results = Promise.all([1, 2].map((item) => batcher.add(item)));
      await turn();
      await flushes[0]?.fail(lost);
      await succeed(1);
      expect(await results).to.deep.equal(['1', '2']);
      expect(batches()).to.deep.equal([
        [1, 2],
        [1, 2],
      ]);
    });

    it('has an unknown outcome when the connection is lost again, or the batch cannot be sent', async () => {
      for (const second of [lost, new Error('connect ECONNREFUSED')]) {
        const { batcher, batches, flushes } = createManualBatcher({ maxItems: 10 });
        const failed = rejectionOf(batcher.add(1));
        await turn();
        await flushes[0]?.fail(lost);
        await flushes[1]?.fail(second);
        const error = await failed;
        expect(error).to.be.instanceOf(OutcomeUnknownError);
        expect(error.cause).to.equal(second);
        expect(batches()).to.deep.equal([[1], [1]]);
      }
    });

    it('is repeated by a flush that knows so, also for each item if the batch is then refused', async () => {
      const firsts: number[][] = [];
      const seconds: number[][] = [];
      const batcher = createBatcher<number, string>(
        async (items) => {
          firsts.push([...items]);
          throw lost;
        },
        {
          maxItems: 10,
          again: async (items) => {
            seconds.push([...items]);
            if (items.includes(2)) throw refusal;
            return items.map((item) => `again ${item}`);
          },
        },
      );
      const [one, two] = await Promise.allSettled([1, 2].map((item) => batcher.add(item)));
      expect(one).to.deep.include({ value: 'again 1' });
      expect(two).to.deep.include({ reason: refusal });
      expect([firsts, seconds]).to.deep.equal([[[1, 2]], [[1, 2], [1], [2]]]);
    });
  });

  for (const [what, results] of [
    ['too few', ['1']],
    ['too many', ['1', '2', '3']],
  ] as const) {
    it(`repeats nothing when a flush completed and returned ${what} results`, async () => {
      const { batcher, batches, flushes } = createManualBatcher({ maxItems: 10 });
      const settled = Promise.allSettled([1, 2].map((item) => batcher.add(item)));
      await turn();
      await flushes[0]?.answer(results);
      expect((await settled).map(({ status }) => status)).to.deep.equal(['rejected', 'rejected']);
      expect(batches()).to.deep.equal([[1, 2]]);
    });
  }

  it('is idle when nothing is queued or in flight', async () => {
    const { batcher, succeed } = createManualBatcher({ maxItems: 1 });
    await batcher.idle();
    const results = Promise.all([batcher.add(1), batcher.add(2)]);
    let idle = false;
    const waiting = batcher.idle().then(() => (idle = true));
    await turn();
    await succeed(0);
    expect(idle, 'the second call is in flight').to.equal(false);
    await succeed(1);
    await waiting;
    await results;
  });

  it('returns to every call the result of its item, for any number of calls and any refused batches', async () => {
    await assert(
      asyncProperty(
        array(nat({ max: 50 }), { maxLength: 60 }),
        integer({ min: 1, max: 8 }),
        nat({ max: 50 }),
        async (items, maxItems, badItem) => {
          const batcher = createBatcher<number, string>(
            async (batch) => {
              await turn();
              if (batch.includes(badItem)) throw refusal;
              return batch.map(String);
            },
            { maxItems },
          );
          const results = await Promise.allSettled(items.map((item) => batcher.add(item)));
          for (const [index, item] of items.entries()) {
            const expected = item === badItem ? { reason: refusal } : { value: String(item) };
            expect(results[index]).to.deep.include(expected);
          }
          await batcher.idle();
        },
      ),
      { numRuns: casesOf(50) },
    );
  });
});
