import { expect } from 'chai';
import { parseUsd } from '../../domain/money.ts';
import { renderCost } from '../../domain/render-cost.ts';
import type { RouteCost } from '../../domain/media-route.ts';

const prices = (usd: Readonly<Record<string, string>>): RouteCost['prices'] =>
  Object.fromEntries(Object.entries(usd).map(([name, price]) => [name, String(parseUsd(price))]));

describe('the cost of a render', () => {
  const video = { resolution: '720p', durationSeconds: 5 };

  it('is the amount of money that the upstream reports', () => {
    const reported = { amount: '0.0421', unit: 'usd' };
    expect(renderCost(video, { reported, written: null })).to.equal(parseUsd('0.0421'));
  });

  it('is the number of units that the upstream reports, at the operator’s price', () => {
    const written: RouteCost = { per: 'unit', prices: prices({ credits: '0.014' }) };
    expect(renderCost(video, { reported: { amount: '2.5', unit: 'credits' }, written })).to.equal(parseUsd('0.035'));
    expect(renderCost(video, { reported: { amount: '2.5', unit: 'tokens' }, written })).to.equal(null);
    expect(renderCost(video, { reported: null, written })).to.equal(null);
  });

  it('is the operator’s configured cost, for the whole or for each second, by resolution or for all', () => {
    const perSecond: RouteCost = { per: 'second', prices: prices({ '720p': '0.1', '*': '0.2' }) };
    expect(renderCost(video, { reported: null, written: perSecond })).to.equal(parseUsd('0.5'));
    expect(renderCost({ ...video, resolution: '1080p' }, { reported: null, written: perSecond })).to.equal(
      parseUsd('1'),
    );
    const perRender: RouteCost = { per: 'render', prices: prices({ '1K': '0.03' }) };
    expect(renderCost({ width: 1024, height: 1024 }, { reported: null, written: perRender })).to.equal(
      parseUsd('0.03'),
    );
    expect(renderCost({ width: 2048, height: 2048 }, { reported: null, written: perRender })).to.equal(null);
  });

  it('is unknown if it is neither reported nor configured', () => {
    expect(renderCost(video, { reported: null, written: null })).to.equal(null);
  });
});
