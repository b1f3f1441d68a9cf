import { expect } from 'chai';
import { parseCpuLimit, processesFor } from '../../../bin/parts/available-cores.ts';

describe('the number of text processes by the available cores', () => {
  const CASES: readonly [cpuMax: string, cores: number, processes: number][] = [
    ['max 100000', 8, 7],
    ['max 100000', 1, 1],
    ['', 4, 3],
    ['200000 100000\n', 8, 2],
    ['250000 100000', 8, 2],
    ['50000 100000', 8, 1],
    ['1600000 100000', 8, 8],
  ];
  for (const [cpuMax, cores, processes] of CASES) {
    it(`counts ${processes} with ${cores} cores and the limit ${JSON.stringify(cpuMax)}`, () => {
      expect(processesFor({ cores, limit: parseCpuLimit(cpuMax) })).to.equal(processes);
    });
  }
});
