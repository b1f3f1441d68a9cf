import { expect } from 'chai';
import { streamPages } from '../../db/stream-pages.ts';

describe('a streamed list', () => {
  /** A list of numbers, and how often a page of it was read. */
  function numbers(count: number): { readonly rows: AsyncIterable<number>; readonly pagesRead: () => number } {
    let pages = 0;
    const rows = streamPages(async (after: number | undefined, limit) => {
      pages += 1;
      const first = after === undefined ? 0 : after + 1;
      return Array.from({ length: Math.min(limit, count - first) }, (_, index) => first + index);
    });
    return { rows, pagesRead: () => pages };
  }

  for (const count of [0, 1, 999, 1_000, 1_001, 2_000, 2_500]) {
    it(`returns each of ${count} rows once, in order`, async () => {
      const seen: number[] = [];
      for await (const number of numbers(count).rows) seen.push(number);
      expect(seen).to.deep.equal(Array.from({ length: count }, (_, index) => index));
    });
  }

  it('reads a page when it is needed, and none after reading stops', async () => {
    const { rows, pagesRead } = numbers(10_000);
    expect(pagesRead()).to.equal(0);
    for await (const number of rows) if (number === 1_500) break;
    expect(pagesRead()).to.equal(2);
  });
});
