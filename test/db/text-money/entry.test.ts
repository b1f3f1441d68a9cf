import { expect } from 'chai';
import { Entry } from '../../../db/text-money/entry.ts';

const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;
const GRANTED = { hasPlenty: true, isSmall: true, hasToppedUp: true, validMs: null, places: null };

describe('an allowance without requests', () => {
  const CASES: readonly [
    rule: string,
    allowance: { readonly requestsAtMs: readonly number[]; readonly isSmall: boolean; readonly keptMs: number },
  ][] = [
    ['returns after a second', { requestsAtMs: [0], isSmall: true, keptMs: SECOND_MS }],
    ['returns after a second if requests had no pause', { requestsAtMs: [0, 999], isSmall: true, keptMs: SECOND_MS }],
    [
      'waits for a minute if it is small and requests came again within a minute',
      { requestsAtMs: [0, 59_999], isSmall: true, keptMs: MINUTE_MS },
    ],
    [
      'waits for a minute as long as each pause is shorter than a minute',
      { requestsAtMs: [0, 5_000, 5_001, 64_000], isSmall: true, keptMs: MINUTE_MS },
    ],
    [
      'returns after a second if requests came again after a minute',
      { requestsAtMs: [0, 5_000, 65_000], isSmall: true, keptMs: SECOND_MS },
    ],
    ['returns after a second if it is large', { requestsAtMs: [0, 5_000], isSmall: false, keptMs: SECOND_MS }],
  ];
  for (const [rule, { requestsAtMs, isSmall, keptMs }] of CASES) {
    it(rule, () => {
      const entry = new Entry({ accountId: 'acc_1', apiKeyId: 'key_1', budgets: [] });
      for (const atMs of requestsAtMs) entry.count(1n, atMs);
      entry.answer({ ...GRANTED, isSmall }, MINUTE_MS);
      const endMs = (requestsAtMs.at(-1) ?? 0) + keptMs;
      expect([entry.isUnneeded(endMs - 1), entry.isUnneeded(endMs)]).to.deep.equal([false, true]);
    });
  }

  it('returns all of its money when it is recalled', () => {
    const entry = new Entry({ accountId: 'acc_1', apiKeyId: 'key_1', budgets: [] });
    const now = performance.now();
    for (const atMs of [now - 5_000, now - 2_000]) entry.count(1n, atMs);
    entry.allowance.setTotal({ signup: 1n, funded: 2n });
    entry.answer(GRANTED, MINUTE_MS);
    entry.isRecalled = true;
    expect(entry.toAllowanceRequest([])).to.deep.include({
      isAnswered: true,
      returned: { signup: 1n, funded: 2n },
      extra: 0n,
      kept: 0n,
    });
  });
});
