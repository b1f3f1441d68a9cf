import { expect } from 'chai';
import { Counter, Gauge, Registry } from 'prom-client';
import { SummedMetrics } from '../../telemetry/summed-metrics.ts';

/** The metrics of a process that has answered this many requests over this many connections. */
async function snapshotOf(answered: number, connections: number, isRefused = 0) {
  const registry = new Registry();
  const help = 'For the test';
  const registers = [registry];
  new Counter({ name: 'answered_total', help, registers }).inc(answered);
  new Gauge({ name: 'connections', help, registers }).set(connections);
  new Gauge({ name: 'refused', help, registers, aggregator: 'max' }).set(isRefused);
  return registry.getMetricsAsJSON();
}

async function samplesOf(sums: SummedMetrics): Promise<readonly string[]> {
  return (await sums.render()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
}

describe('the metrics of several processes', () => {
  it('are added up, or aggregated as a gauge defines', async () => {
    const sums = new SummedMetrics();
    sums.update(1, await snapshotOf(5, 2, 1));
    sums.update(2, await snapshotOf(7, 3, 1));
    expect(await samplesOf(sums)).to.deep.equal(['answered_total 12', 'connections 5', 'refused 1']);
  });

  it('hold the last values of a process that reports none', async () => {
    const sums = new SummedMetrics();
    sums.update(1, await snapshotOf(5, 2));
    sums.update(2, await snapshotOf(7, 3));
    sums.update(2, await snapshotOf(8, 1));
    expect(await samplesOf(sums)).to.deep.equal(['answered_total 13', 'connections 3', 'refused 0']);
  });

  it('keep the counters of processes that have ended, and drop their gauges', async () => {
    const sums = new SummedMetrics();
    for (const process of [1, 2]) {
      sums.update(process, await snapshotOf(5, 2));
      sums.end(process);
    }
    sums.update(3, await snapshotOf(1, 4));
    expect(await samplesOf(sums)).to.deep.equal(['answered_total 11', 'connections 4', 'refused 0']);
  });
});
