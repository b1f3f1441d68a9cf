import { expect } from 'chai';
import * as fc from 'fast-check';
import { availabilityOf, overallStatus, type RouteState, statusOf } from '../../domain/service-status.ts';

const route = (state: Partial<RouteState>): RouteState => ({ isOpen: false, requests: 0, failures: 0, ...state });

describe('the status of a service', () => {
  const expected = [
    [1, 'operational'],
    [0.99, 'operational'],
    [0.9899, 'degraded'],
    [0.5, 'degraded'],
    [0.4999, 'outage'],
    [0, 'outage'],
  ] as const;
  for (const [availability, status] of expected) {
    it(`is ${status} at an availability of ${availability}`, () => {
      // contract 4.12:8
      expect(statusOf(availability)).to.equal(status);
    });
  }

  it('is the status of all services together only if they agree', () => {
    expect(overallStatus(['operational', 'operational'])).to.equal('operational');
    expect(overallStatus(['operational', 'outage'])).to.equal('degraded');
    expect(overallStatus(['outage', 'outage'])).to.equal('outage');
    expect(overallStatus([])).to.equal('operational');
  });
});

describe('the availability of a model', () => {
  const expected: readonly (readonly [string, number, readonly RouteState[]])[] = [
    ['has no calls', 1, [route({})]],
    ['has one route, whose circuit is open', 0, [route({ isOpen: true, requests: 100 })]],
    ['has one of its two circuits open', 1, [route({ isOpen: true }), route({ requests: 100 })]],
    ['fails a fifth of its calls', 0.8, [route({ requests: 10, failures: 2 })]],
    ['failed its only call', 1, [route({ requests: 1, failures: 1 })]],
    [
      'fails half of the calls on each of two routes',
      0.75,
      [route({ requests: 10, failures: 5 }), route({ requests: 10, failures: 5 })],
    ],
    ['has no route', 0, []],
  ];
  for (const [situation, availability, routes] of expected) {
    it(`is ${availability} for a model that ${situation}`, () => {
      expect(availabilityOf(routes)).to.be.closeTo(availability, 1e-9);
    });
  }

  it('never falls when a route is added', () => {
    const anyRoute = fc
      .record({ isOpen: fc.boolean(), requests: fc.nat(1000), share: fc.double({ min: 0, max: 1, noNaN: true }) })
      .map(({ isOpen, requests, share }) => ({ isOpen, requests, failures: Math.floor(requests * share) }));
    fc.assert(
      fc.property(fc.array(anyRoute, { maxLength: 5 }), anyRoute, (routes, another) => {
        const availability = availabilityOf([...routes, another]);
        expect(availability).to.be.within(0, 1);
        expect(availability).to.be.at.least(availabilityOf(routes) - 1e-9);
      }),
    );
  });
});
