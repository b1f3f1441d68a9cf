/** What holds for tasks at every vendor: whatever goes wrong, one render at the most and one resolution. */
import { expect } from 'chai';
import { call, type TestStack } from '../../../support/stack.ts';
import { transfersOf } from '../../../support/tasks.ts';
import { attemptsOf, finishedVendorTask, rendersOf, type VendorTask } from '../../../support/vendors.ts';

export interface VendorFacts {
  /** The upstream's name. */
  readonly provider: string;
  readonly model: string;
  /** The vendor's name for the model. */
  readonly vendorModel: string;
  /** A video with settings of its own, and what of them the vendor is sent. */
  readonly order: object;
  readonly sent: (task: VendorTask) => object;
  /** How the outcome of a submission is learnt whose answer was lost. */
  readonly learntFrom: string;
  /** What `tasks explain` says of such a submission of the usual video. */
  readonly outcomeTold: RegExp;
}

/** The stack that the suites of several vendors use, once it runs. */
export type UsedStack = () => TestStack;

/** For what a vendor has beside the others. */
export interface VendorTools {
  readonly stack: () => TestStack;
  readonly apiKey: () => string;
  /** Creates a task of the vendor's video model, or of what `body` says, and waits for its end. */
  readonly final: (directives?: string, body?: object) => Promise<VendorTask>;
  readonly expectBooks: (task: VendorTask, resolution: 'settlement' | 'refund', renders: number) => Promise<void>;
}

/** @param more tests that follow, on the same stack */
export function describeTasksAt(
  name: string,
  usedStack: UsedStack,
  facts: VendorFacts,
  more: (tools: VendorTools) => void = () => {},
): void {
  const { provider, model, vendorModel, order, sent, learntFrom, outcomeTold } = facts;
  describeVendor(name, usedStack, model, (tools) => {
    const { stack, final, expectBooks } = tools;

    it('is rendered from text, stored and charged', async () => {
      const task = await final('', order);
      expect(task.status).to.equal('succeeded');
      await expectBooks(task, 'settlement', 1);
      expect((await rendersOf(stack(), task))[0]?.sent).to.include(sent(task));
    });

    for (const [directives, code] of [
      ['reject=content_policy_violation', 'content_policy_violation'],
      ['reject=bad_request', 'bad_request'],
      ['broke', 'processing_unavailable'],
    ] as const) {
      it(`is refunded as ${code} when it is turned away: ${directives}`, async () => {
        const task = await final(directives);
        expect(task).to.include({ status: 'failed', error_code: code });
        await expectBooks(task, 'refund', 0);
      });
    }

    for (const [directives, code] of [
      ['fail=content_policy_violation', 'content_policy_violation'],
      ['fail=processing_failed', 'processing_failed'],
    ] as const) {
      it(`is refunded as ${code} when its render fails so`, async () => {
        const task = await final(directives);
        expect(task).to.include({ status: 'failed', error_code: code });
        await expectBooks(task, 'refund', 1);
      });
    }

    for (const directives of [
      'poll_errors=3',
      'odd_words=3,render_ms=1500',
      'forget=3',
      'dead_links=1',
      'result=slow',
    ]) {
      it(`continues despite ${directives}`, async () => {
        const task = await final(directives);
        expect(task.status).to.equal('succeeded');
        await expectBooks(task, 'settlement', 1);
      });
    }

    it('waits as long as the vendor asks, and is submitted again', async () => {
      const task = await final('limited=2');
      expect(task.status).to.equal('succeeded');
      expect(await attemptsOf(stack(), task)).to.deep.equal([
        `${provider}: not_taken, from the answer`,
        `${provider}: not_taken, from the answer`,
        `${provider}: accepted, from the answer`,
      ]);
      await expectBooks(task, 'settlement', 1);
    });

    for (const directives of ['drop_submit', 'submit_error', 'unreadable_submit']) {
      it(`is rendered once when the answer is lost: ${directives}`, async () => {
        const task = await final(`${directives},render_ms=500`);
        expect(task.status).to.equal('succeeded');
        expect(await attemptsOf(stack(), task)).to.deep.equal([`${provider}: accepted, from ${learntFrom}`]);
        await expectBooks(task, 'settlement', 1);
      });
    }

    it('has a story with each attempt, and how its outcome was learnt', async () => {
      const task = await final('drop_submit,render_ms=500');
      const { body } = await call<{ data: { events: { source: string; text: string }[] } }>(
        `${stack().baseUrl}/admin/v1/tasks/${task.id}/explanation`,
        { key: stack().adminToken },
      );
      const told = body.data.events.filter(({ source }) => source === 'upstream').map(({ text }) => text);
      expect(told).to.have.length(2);
      expect(told[0]).to.equal(`Attempt 1: submitted to ${provider} as ${vendorModel}`);
      expect(told[1]).to.match(outcomeTold);
    });

    more(tools);
  });
}

/** A suite of a vendor, with an account of its own. @param model of the tasks that do not say which */
export function describeVendor(
  name: string,
  usedStack: UsedStack,
  model: string,
  tests: (tools: VendorTools) => void,
): void {
  describe(`a task at ${name}`, function () {
    this.timeout(120_000);
    let stack: TestStack;
    let apiKey: string;

    before(async () => {
      stack = usedStack();
      ({ apiKey } = await stack.createAccount({ fundedUsd: 100 }));
    });

    tests({
      stack: () => stack,
      apiKey: () => apiKey,
      final: (directives = '', body: object = {}) => finishedVendorTask(stack, apiKey, { model, directives, ...body }),

      async expectBooks(task, resolution, renders) {
        expect(await transfersOf(stack, task.id)).to.deep.equal(['reservation', resolution]);
        expect(await rendersOf(stack, task)).to.have.length(renders);
      },
    });
  });
}
