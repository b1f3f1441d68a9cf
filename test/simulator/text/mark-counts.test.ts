import { expect } from 'chai';
import { createMarkCounts } from '../../../simulator/text/mark-counts.ts';

describe('createMarkCounts', () => {
  it('forgets the oldest of too many names', () => {
    const marks = createMarkCounts(2);
    for (const name of ['one', 'two', 'two', 'three']) marks.add(name);
    expect([...marks.counts]).to.deep.equal([
      ['two', 2],
      ['three', 1],
    ]);
  });
});
