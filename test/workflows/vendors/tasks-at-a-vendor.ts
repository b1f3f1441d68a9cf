/** Rules for tasks at every vendor: whatever fails, at most one render and one resolution. */
import { expect } from 'chai';
import { call, type TestStack } from '../../support/stack.ts';
import { transfersOf } from '../../support/tasks.ts';
import { attemptsOf, finishedVendorTask, rendersOf, type VendorTask } from '../../support/vendors.ts';

export interface VendorFacts {
  /** The upstream's name. */
  readonly provider: string;
  readonly model: string;
  /** The vendor's name for the model. */
  readonly vendorModel: string;
  /** A video with settings of its own, and the fields of them that the vendor receives. */
  readonly order: object;
  readonly sent: (task: VendorTask) => object;
  /** How the outcome of a submission is found whose answer was lost; null if the vendor has no means. */
  readonly evidence: string | null;
  /** The text of `tasks explain` about such a submission of the usual video. */
  readonly outcomeTold: RegExp;
}

/** A task of a suite. */
export interface Order {
  /** For the simulator, such as `drop_submit,render_ms=500`. */
  readonly directives?: string;
  /** The fields of the request that differ from the vendor's usual task; a function where they need the stack. */
  readonly body?: object | (() => Promise<object>);
}

/** Passes the parts that only this vendor has. */
export interface VendorTools {
  readonly stack: TestStack;
  readonly apiKey: () => string;
  /** Describes a test of a final task. The task is created before the first test of all vendors. */
  readonly itEnds: (title: string, order: Order, check: (task: VendorTask) => Promise<void>) => void;
  readonly expectBooks: (task: VendorTask, resolution: 'settlement' | 'refund', renders: number) => Promise<void>;
}

/** @param more tests that follow, on the same stack */
export function describeTasksAt(
  name: string,
  stack: TestStack,
  facts: VendorFacts,
  more: (tools: VendorTools) => void = () => {},
): void {
  const { provider, model, vendorModel, order, sent, evidence, outcomeTold } = facts;
  describeVendor(name, stack, model, (tools) => {
    const { itEnds, expectBooks } = tools;

    itEnds('renders from text, stores and charges its result', { body: order }, async (task) => {
      expect(task.status).to.equal('succeeded');
      await expectBooks(task, 'settlement', 1);
      expect((await rendersOf(stack, task))[0]?.sent).to.include(sent(task));
    });

    for (const [directives, code] of [
      ['reject=content_policy_violation', 'content_policy_violation'],
      ['reject=bad_request', 'bad_request'],
      ['broke', 'processing_unavailable'],
    ] as const) {
      itEnds(
        `ends in a refund with ${code} when the vendor refuses it: ${directives}`,
        { directives },
        async (task) => {
          expect(task).to.include({ status: 'failed', error_code: code });
          await expectBooks(task, 'refund', 0);
        },
      );
    }

    for (const code of ['content_policy_violation', 'processing_failed']) {
      itEnds(
        `ends in a refund with ${code} when its render fails with this code`,
        { directives: `fail=${code}` },
        async (task) => {
          expect(task).to.include({ status: 'failed', error_code: code });
          await expectBooks(task, 'refund', 1);
        },
      );
    }

    for (const directives of [
      'poll_errors=3',
      'odd_words=3,render_ms=1500',
      'forget=3',
      'dead_links=1',
      'result=slow',
    ]) {
      itEnds(`continues despite ${directives}`, { directives }, async (task) => {
        expect(task.status).to.equal('succeeded');
        await expectBooks(task, 'settlement', 1);
      });
    }

    itEnds('waits as long as the vendor requests, and submits again', { directives: 'limited=2' }, async (task) => {
      expect(task.status).to.equal('succeeded');
      const attempts = await attemptsOf(stack, task);
      const turnedAway = `${provider}: not_taken, from the answer`;
      expect(attempts.slice(0, -1)).to.deep.equal([turnedAway, turnedAway]);
      // A callback may overtake the answer.
      expect(attempts.at(-1)).to.match(new RegExp(`^${provider}: accepted, from the (answer|callback)$`));
      await expectBooks(task, 'settlement', 1);
    });

    for (const lost of ['drop_submit', 'submit_error', 'unreadable_submit']) {
      const directives = `${lost},render_ms=500`;
      if (evidence === null) {
        itEnds(
          `ends in a refund, without a second render, when the answer is lost: ${lost}`,
          { directives },
          async (task) => {
            expect(task).to.include({ status: 'failed', error_code: 'processing_unavailable' });
            expect(await attemptsOf(stack, task)).to.deep.equal([`${provider}: unknown, from nothing`]);
            await expectBooks(task, 'refund', 1);
          },
        );
        continue;
      }
      itEnds(`renders once when the answer is lost: ${lost}`, { directives }, async (task) => {
        expect(task.status).to.equal('succeeded');
        const attempts = await attemptsOf(stack, task);
        expect(attempts).to.have.length(1);
        // A callback may overtake the look-up.
        expect(attempts[0]).to.match(new RegExp(`^${provider}: accepted, from (${evidence}|the callback)$`));
        await expectBooks(task, 'settlement', 1);
      });
    }

    const lostOrder = { directives: 'drop_submit,render_ms=500' };
    itEnds('shows each attempt in its timeline, with the source of the outcome', lostOrder, async (task) => {
      const { body } = await call<{ data: { events: { source: string; text: string }[] } }>(
        `${stack.baseUrl}/admin/v1/tasks/${task.id}/explanation`,
        { key: stack.adminToken },
      );
      const told = body.data.events.filter(({ source }) => source === 'upstream').map(({ text }) => text);
      expect(told).to.have.length(2);
      expect(told[0]).to.equal(`Attempt 1: submitted to ${provider} as ${vendorModel}`);
      expect(told[1]).to.match(outcomeTold);
    });

    more(tools);
  });
}

/** For a vendor whose list may lag, so that the outcome of a lost answer may stay unknown. */
export function describeLateListAt(provider: string, { stack, itEnds, expectBooks }: VendorTools): void {
  const late = { directives: 'drop_submit,unlisted,render_ms=500' };
  itEnds('continues after the callback when the list is late', late, async (task) => {
    expect(task.status).to.equal('succeeded');
    expect(await attemptsOf(stack, task)).to.deep.equal([`${provider}: accepted, from the callback`]);
    await expectBooks(task, 'settlement', 1);
  });

  const lost = { directives: 'drop_submit,unlisted,stuck' };
  itEnds('ends with one refund when neither the list nor a callback reveals its outcome', lost, async (task) => {
    expect(task).to.include({ status: 'failed', error_code: 'processing_unavailable' });
    expect(await attemptsOf(stack, task)).to.deep.equal([`${provider}: unknown, from nothing`]);
    await expectBooks(task, 'refund', 1);
  });
}

/** A suite of a vendor, with an account of its own. @param model of the tasks that name none */
export function describeVendor(
  name: string,
  stack: TestStack,
  model: string,
  tests: (tools: VendorTools) => void,
): void {
  const orders: Order[] = [];
  const finals: Promise<VendorTask>[] = [];
  let apiKey: string;

  async function finish({ directives = '', body = {} }: Order): Promise<VendorTask> {
    const fields = typeof body === 'function' ? await body() : body;
    return finishedVendorTask(stack, apiKey, { model, directives, ...fields });
  }

  // The vendors work in parallel, one task at a time each: some reveal a lost one only by exclusion.
  before(async () => {
    ({ apiKey } = await stack.createAccount({ fundedUsd: 100 }));
    let previous: Promise<unknown> = Promise.resolve();
    for (const order of orders) {
      const final = previous.then(() => finish(order));
      previous = final.catch(() => undefined);
      finals.push(final);
    }
  });

  describe(`a task at ${name}`, () => {
    tests({
      stack,
      apiKey: () => apiKey,

      itEnds(title, order, check) {
        const index = orders.push(order) - 1;
        it(title, async () => {
          const task = await finals[index];
          if (!task) throw new Error('the task was not created');
          await check(task);
        });
      },

      async expectBooks(task, resolution, renders) {
        expect(await transfersOf(stack, task.id)).to.deep.equal(['reservation', resolution]);
        expect(await rendersOf(stack, task)).to.have.length(renders);
      },
    });
  });
}
