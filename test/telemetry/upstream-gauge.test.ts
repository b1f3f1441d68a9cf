import { expect } from 'chai';
import { Registry } from 'prom-client';
import { watchOpenCircuits } from '../../telemetry/upstream-gauge.ts';

describe('the gauge of upstreams whose circuit is open', () => {
  it('counts the routes with an open circuit, and drops them when their circuits close', async () => {
    const registry = new Registry();
    const rest = { upstream: 'studio', model: 'm', cause: 'failed' };
    let rests = [rest, rest, { ...rest, cause: 'operator' }];
    watchOpenCircuits(registry, () => rests);
    expect(await registry.metrics())
      .to.contain('genway_text_upstream_resting{upstream="studio",model="m",cause="failed"} 2')
      .and.contain('genway_text_upstream_resting{upstream="studio",model="m",cause="operator"} 1');
    rests = [];
    expect(await registry.metrics()).to.not.contain('studio');
  });
});
