import { expect } from 'chai';
import { UPSTREAM_FAULTS, type UpstreamFault } from '../../../domain/circuit.ts';
import type { Candidate } from '../../../providers/text/candidates.ts';
import { CircuitBoard } from '../../../providers/text/circuits.ts';

const NOW_MS = 1_800_000_000_000;

const CANDIDATES: Readonly<Record<string, Candidate>> = {
  'the same': candidate({}),
  'another key': candidate({ key: 'k-2' }),
  'another model': candidate({ model: 'other' }),
  'another format': candidate({ format: 'responses' }),
  'another upstream': candidate({ provider: 'other' }),
};

function candidate({
  provider = 'one',
  model = 'm',
  key = 'k-1',
  ...format
}: Partial<Candidate['route']> & { key?: string }) {
  return { route: { provider, format: 'chat-completions', model, order: 0, weight: 1, ...format }, key } as const;
}

/** The candidates whose circuits open for a fault of the first. */
const OPENED: Readonly<Record<UpstreamFault, readonly string[]>> = {
  unreachable: ['the same', 'another key', 'another model'],
  key_refused: ['the same', 'another model', 'another format'],
  access_refused: ['the same'],
  model_unknown: ['the same', 'another key'],
  rate_limited: ['the same'],
  failed: ['the same', 'another key'],
  silent: ['the same', 'another key'],
};

describe('the circuits of text upstreams', () => {
  const openOn = (board: CircuitBoard): readonly string[] =>
    Object.keys(CANDIDATES).filter((name) => board.of(CANDIDATES[name] ?? candidate({})).state(NOW_MS) === 'open');

  for (const fault of UPSTREAM_FAULTS) {
    for (const areKnown of [true, false]) {
      it(`open together for "${fault}" if they share the part at fault${areKnown ? '' : ', for new candidates too'}, and close together`, () => {
        const board = new CircuitBoard(() => 0);
        if (areKnown) openOn(board);
        const circuit = board.of(candidate({}));
        for (const account of ['a', 'b', 'c', 'd', 'e']) circuit.start(NOW_MS, account).failed(fault, NOW_MS, null);
        expect(openOn(board)).to.deep.equal(OPENED[fault]);
        circuit.start(NOW_MS, 'a').record('started', NOW_MS);
        expect(openOn(board)).to.deep.equal([]);
      });
    }
  }
});
