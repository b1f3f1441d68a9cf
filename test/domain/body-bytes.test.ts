import { expect } from 'chai';
import * as fc from 'fast-check';
import { BodyBytes } from '../../domain/body-bytes.ts';
import { casesOf } from '../support/properties.ts';

/** Bodies in pieces, including large ones. */
const bodies = fc.array(
  fc.array(
    fc.oneof(
      fc.uint8Array({ maxLength: 9 }),
      fc.nat(300_000).map((length) => new Uint8Array(length).fill(length)),
    ),
    { maxLength: 6 },
  ),
  { minLength: 1, maxLength: 4 },
);

describe('the bytes of bodies', () => {
  it('stay unchanged for any pieces, even while other bodies arrive and break off', () => {
    fc.assert(
      fc.property(bodies, (sent) => {
        const coming = sent.map(() => new BodyBytes());
        const mostPieces = Math.max(...sent.map(({ length }) => length));
        for (let at = 0; at < mostPieces; at += 1) {
          const givenUp = new BodyBytes();
          for (const [index, pieces] of sent.entries()) {
            const piece = pieces[at];
            if (piece === undefined) continue;
            coming[index]?.add(Buffer.from(piece));
            givenUp.add(Buffer.from(piece));
          }
          givenUp.drop();
        }
        const come = coming.map((bytes) => bytes.take());
        expect(come.every((bytes, index) => bytes.equals(Buffer.concat(sent[index] ?? [])))).to.equal(true);
      }),
      { numRuns: casesOf(200) },
    );
  });
});
