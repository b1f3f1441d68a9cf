import { expect } from 'chai';
import * as fc from 'fast-check';
import { drawRoutes, imageRoleOf, type RankedRoute } from '../../domain/media-route.ts';

const route = (provider: string, order: number, weight = 1): RankedRoute => ({ provider, model: 'm', order, weight });

describe('the routes of a media model', () => {
  const draw = (routes: readonly RankedRoute[], random: () => number): readonly string[] =>
    drawRoutes(routes, random).map(({ provider }) => provider);

  it('are tried by their order, at random among equals', () => {
    const routes = [route('last', 2), route('first', 0), route('one', 1), route('other', 1)];
    expect(draw(routes, () => 0)).to.deep.equal(['first', 'one', 'other', 'last']);
    expect(draw(routes, () => 0.99)).to.deep.equal(['first', 'other', 'one', 'last']);
  });

  it('routes are drawn by their weights', () => {
    const routes = [route('heavy', 0, 3), route('light', 0, 1)];
    expect(draw(routes, () => 0.74)[0]).to.equal('heavy');
    expect(draw(routes, () => 0.76)[0]).to.equal('light');
  });

  it('all routes are tried, once each', () => {
    const routes = fc.array(fc.record({ order: fc.nat(3), weight: fc.integer({ min: 1, max: 9 }) }), { minLength: 1 });
    const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
    fc.assert(
      fc.property(routes, random, (shapes, number) => {
        const ranked = shapes.map(({ order, weight }, index) => route(String(index), order, weight));
        const drawn = drawRoutes(ranked, () => number);
        expect(drawn.map(({ provider }) => provider)).to.have.members(ranked.map(({ provider }) => provider));
        const orders = drawn.map(({ provider }) => shapes[Number(provider)]?.order ?? 0);
        expect(orders).to.deep.equal([...orders].sort((one, other) => one - other));
      }),
    );
  });

  it('accept images as the first frame of a video and as references of a picture by default', () => {
    expect(imageRoleOf({}, 'video')).to.equal('first_frame');
    expect(imageRoleOf({}, 'image')).to.equal('references');
    expect(imageRoleOf({ imagesAs: 'references' }, 'video')).to.equal('references');
  });
});
