import { expect } from 'chai';
import * as fc from 'fast-check';
import { createRandom } from '../../../lab/drill/random.ts';

const seed = fc.integer({ min: 0, max: 2 ** 32 - 1 });

describe('the random numbers of a drill', () => {
  it('stay the same for the same seed', () => {
    fc.assert(
      fc.property(seed, (value) => {
        const [one, other] = [createRandom(value), createRandom(value)];
        for (let count = 0; count < 20; count += 1) expect(one.next()).to.equal(other.next());
      }),
    );
  });

  it('differ for another seed', () => {
    expect(createRandom(1).next()).not.to.equal(createRandom(2).next());
  });

  it('stay within their bounds, and reach them', () => {
    const random = createRandom(7);
    const seen = new Set(Array.from({ length: 200 }, () => random.integer(3, 5)));
    expect(seen).to.deep.equal(new Set([3, 4, 5]));
  });

  it('keep every item when they shuffle', () => {
    fc.assert(
      fc.property(seed, fc.array(fc.integer()), (value, items) => {
        expect(createRandom(value).shuffled(items)).to.have.members(items);
      }),
    );
  });

  it('follow the weights, and never pick an item of weight zero', () => {
    const random = createRandom(3);
    const items = [
      { name: 'often', weight: 9 },
      { name: 'never', weight: 0 },
      { name: 'seldom', weight: 1 },
    ];
    const picked = Array.from({ length: 1_000 }, () => random.weighted(items).name);
    expect(picked).to.include('seldom').and.not.include('never');
    expect(picked.filter((name) => name === 'often').length).to.be.greaterThan(800);
  });

  it('pick nothing from an empty list', () => {
    expect(() => createRandom(1).pick([])).to.throw(RangeError);
  });
});
