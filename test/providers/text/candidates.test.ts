import { expect } from 'chai';
import * as fc from 'fast-check';
import { orderCandidates, type UpstreamRoute } from '../../../providers/text/candidates.ts';

function route(provider: string, settings: Partial<UpstreamRoute> = {}): UpstreamRoute {
  return { provider, format: 'messages', model: 'm', order: 0, weight: 1, ...settings };
}

const ONE_KEY = (): readonly string[] => ['key'];
const MANY = Array.from({ length: 4_000 }, (_, index) => `user-${index}`);

function providersOf(routes: readonly UpstreamRoute[], affinity: string): string[] {
  return orderCandidates(routes, ONE_KEY, affinity).map(({ route: { provider } }) => provider);
}

/** The share of affinities for which a route comes first. */
function shareOf(provider: string, routes: readonly UpstreamRoute[]): number {
  return MANY.filter((affinity) => providersOf(routes, affinity)[0] === provider).length / MANY.length;
}

describe('the order of the candidates for a model', () => {
  it('follows the order of their routes for every caller', () => {
    const routes = [route('c', { order: 2 }), route('a', { order: 0 }), route('b', { order: 1 })];
    fc.assert(
      fc.property(fc.string(), (affinity) => {
        expect(providersOf(routes, affinity)).to.deep.equal(['a', 'b', 'c']);
      }),
    );
  });

  it('is the same each time for one affinity, and differs between affinities', () => {
    const routes = [route('a'), route('b'), route('c')];
    expect(providersOf(routes, 'user-1')).to.deep.equal(providersOf(routes.toReversed(), 'user-1'));
    expect(new Set(MANY.map((affinity) => providersOf(routes, affinity).join(''))).size).to.equal(6);
  });

  it('gives each route of equal order its share', () => {
    const routes = [
      route('a', { weight: 6 }),
      route('b', { weight: 3 }),
      route('c'),
      route('d', { order: 1, weight: 90 }),
    ];
    expect(shareOf('a', routes)).to.be.closeTo(0.6, 0.03);
    expect(shareOf('b', routes)).to.be.closeTo(0.3, 0.03);
    expect(shareOf('d', routes)).to.equal(0);
  });

  it('moves only the callers of a route that is added or removed', () => {
    const routes = [route('a'), route('b', { weight: 2 }), route('c')];
    const without = [route('a'), route('c')];
    for (const affinity of MANY.slice(0, 500)) {
      expect(providersOf(routes, affinity).filter((provider) => provider !== 'b')).to.deep.equal(
        providersOf(without, affinity),
      );
    }
  });

  describe('with several keys', () => {
    const keysOf = ({ provider }: UpstreamRoute): readonly string[] => ['1', '2', '3'].map((key) => provider + key);
    const keysFor = (affinity: string): string[] =>
      orderCandidates([route('a'), route('b', { order: 1 })], keysOf, affinity).map(({ key }) => key);

    it('tries two of the first route, two of the next, and then the others', () => {
      for (const affinity of MANY.slice(0, 50)) {
        expect(keysFor(affinity).map((key) => key[0])).to.deep.equal(['a', 'a', 'b', 'b', 'a', 'b']);
        expect(new Set(keysFor(affinity)).size).to.equal(6);
      }
    });

    it('spreads callers over the keys, and keeps each caller on one key', () => {
      const first = MANY.map((affinity) => keysFor(affinity)[0]);
      for (const key of ['a1', 'a2', 'a3']) {
        expect(first.filter((chosen) => chosen === key).length / MANY.length).to.be.closeTo(1 / 3, 0.03);
      }
      expect(MANY.map((affinity) => keysFor(affinity)[0])).to.deep.equal(first);
    });
  });

  it('leaves out routes without an upstream', () => {
    expect(orderCandidates([route('a')], () => [], 'user-1')).to.deep.equal([]);
  });
});
