import { expect } from 'chai';
import { parseOptions } from '../../drill/options.ts';
import { ROLES } from '../../drill/plan.ts';

describe('the options of a drill', () => {
  it('are ten minutes with eighty kills of everybody, by a new seed', () => {
    expect(parseOptions([], 42)).to.deep.include({ durationMs: 600_000, kills: 80, roles: ROLES, seed: 42 });
  });

  it('can be given', () => {
    const options = parseOptions(['--minutes', '4', '--seed', '7', '--kills', '100', '--only', 'api,text'], 42);
    expect(options).to.deep.include({ durationMs: 240_000, kills: 100, roles: ['api', 'text'], seed: 7 });
  });

  const mistakes: readonly (readonly [args: readonly string[], named: string])[] = [
    [['--minutes', '0'], '--minutes'],
    [['--minutes', 'ten'], '--minutes'],
    [['--kills', '-1'], '--kills'],
    [['--kills', '1.5'], '--kills'],
    [['--seed', '4294967296'], '--seed'],
    [['--only', 'api,simulator'], '--only'],
    [['--speed', '2'], '--speed'],
  ];
  for (const [args, named] of mistakes) {
    it(`refuses ${args.join(' ')}, and names it`, () => {
      expect(() => parseOptions(args, 42)).to.throw(named);
    });
  }
});
