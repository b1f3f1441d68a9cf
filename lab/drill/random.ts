/** Repeatable random numbers: the same seed gives the same numbers. Not for secrets. */

export interface Random {
  /** From 0, below 1. */
  next(): number;
  /** A whole number; both bounds are possible. */
  integer(from: number, to: number): number;
  /** @throws RangeError when there are none */
  pick<Item>(items: readonly Item[]): Item;
  /** One of the items, in proportion to its weight. */
  weighted<Item extends { readonly weight: number }>(items: readonly Item[]): Item;
  shuffled<Item>(items: readonly Item[]): Item[];
  /** A separate generator, so that its users do not change each other's numbers. */
  fork(): Random;
}

/**
 * The generator mulberry32: https://gist.github.com/tommyettinger/46a874533244883189143505d203312c
 *
 * @param seed a whole number from 0, below 2^32
 */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;

  function next(): number {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  function integer(from: number, to: number): number {
    return from + Math.floor(next() * (to - from + 1));
  }

  return {
    next,
    integer,
    pick: (items) => orThrow(items[integer(0, items.length - 1)]),
    weighted: (items) => {
      let left = next() * items.reduce((sum, { weight }) => sum + weight, 0);
      return orThrow(items.find(({ weight }) => (left -= weight) < 0));
    },
    shuffled: (items) => {
      const rest = [...items];
      return items.flatMap(() => rest.splice(integer(0, rest.length - 1), 1));
    },
    fork: () => createRandom(integer(0, 2 ** 32 - 1)),
  };
}

function orThrow<Item>(picked: Item | undefined): Item {
  if (picked === undefined) throw new RangeError('there is nothing to pick from');
  return picked;
}
