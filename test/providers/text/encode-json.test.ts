import { monitorEventLoopDelay } from 'node:perf_hooks';
import { expect } from 'chai';
import * as fc from 'fast-check';
import { encodeJson } from '../../../providers/text/encode-json.ts';

const MIB = 2 ** 20;

describe('encoding JSON', () => {
  it('writes what JSON.stringify writes, also where a text is cut', async () => {
    const long = fc
      .constantFrom('x', '"\n', '你好', '🏠')
      .chain((unit) => fc.nat(3).map((shift) => 'a'.repeat(shift) + unit.repeat(MIB / unit.length)));
    const value = fc.oneof(
      fc.jsonValue(),
      long,
      fc.array(long, { maxLength: 2 }),
      fc.record({ a: long, b: fc.jsonValue() }),
    );
    await fc.assert(
      fc.asyncProperty(value, async (given) => {
        expect(String(await encodeJson({ given, left: undefined, list: [undefined, given] }))).to.equal(
          JSON.stringify({ given, left: undefined, list: [undefined, given] }),
        );
      }),
      { numRuns: 8 },
    );
  });

  it('lets others be served while it writes a request of 32 MB', async () => {
    const request = { messages: [{ role: 'user', content: '"Hello, world." '.repeat(2 * MIB) }] };
    const delay = monitorEventLoopDelay({ resolution: 10 });
    delay.enable();
    await encodeJson(request);
    delay.disable();
    // Far below what it takes in one piece, and far above what other processes of a busy machine take away.
    expect(delay.percentile(95) / 1e6).to.be.below(300);
  });
});
