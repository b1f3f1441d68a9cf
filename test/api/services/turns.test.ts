import { expect } from 'chai';
import { createTurns } from '../../../api/services/turns.ts';

describe('turns', () => {
  it('go round the accounts that have items, and through those of each in their order', () => {
    const turns = createTurns<string>();
    for (const item of ['a1', 'a2', 'a3', 'b1', 'c1', 'c2']) turns.add(item.charAt(0), item);
    const taken = [turns.take(), turns.take()];
    turns.add('b', 'b2');
    for (let item = turns.take(); item !== undefined; item = turns.take()) taken.push(item);
    expect(taken).to.deep.equal(['a1', 'b1', 'c1', 'a2', 'b2', 'c2', 'a3']);
    expect(turns.take()).to.equal(undefined);
  });
});
