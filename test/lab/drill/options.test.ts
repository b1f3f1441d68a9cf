import { expect } from 'chai';
import { parseOptions } from '../../../lab/drill/options.ts';
import { FAULT_NAMES } from '../../../lab/drill/faults/kinds.ts';

describe('the options of a drill', () => {
  it('default to ten minutes with eighty faults and a new seed', () => {
    expect(parseOptions([], 42)).to.deep.include({ durationMs: 600_000, faults: 80, isCluster: false, seed: 42 });
  });

  it('include every kind of fault, with the servers of development or with a cluster', () => {
    const kinds = [[], ['--cluster']].flatMap((args) => parseOptions(args, 42).kinds);
    expect(new Set(kinds)).to.deep.equal(new Set(FAULT_NAMES));
  });

  it('exclude faults that the chosen servers cannot have', () => {
    expect(parseOptions([], 42).kinds).to.include('restore').and.not.include('failover');
    expect(parseOptions(['--cluster'], 42).kinds)
      .to.include('failover')
      .and.not.include('restore');
  });

  it('exclude a second store from a drill of batches', () => {
    expect(parseOptions(['--batches'], 42).kinds)
      .to.include('store')
      .and.not.include('s3');
  });

  it('set the duration, the seed, the number of faults and their kinds', () => {
    const options = parseOptions(['--minutes', '4', '--seed', '7', '--faults', '100', '--only', 'api,silence'], 42);
    expect(options).to.deep.include({ durationMs: 240_000, faults: 100, kinds: ['api', 'silence'], seed: 7 });
  });

  const mistakes: readonly (readonly [args: readonly string[], named: string])[] = [
    [['--minutes', '0'], '--minutes'],
    [['--minutes', 'ten'], '--minutes'],
    [['--faults', '-1'], '--faults'],
    [['--faults', '1.5'], '--faults'],
    [['--seed', '4294967296'], '--seed'],
    [['--only', 'api,simulator'], '--only'],
    [['--only', 'failover'], '--only'],
    [['--cluster', '--only', 'wipe'], '--only'],
    [['--speed', '2'], '--speed'],
  ];
  for (const [args, named] of mistakes) {
    it(`refuse ${args.join(' ')}, and name it`, () => {
      expect(() => parseOptions(args, 42)).to.throw(named);
    });
  }
});
