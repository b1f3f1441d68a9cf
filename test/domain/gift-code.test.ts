import { expect } from 'chai';
import * as fc from 'fast-check';
import { GIFT_CODE_BITS, giftStatusOf, lettersOfGiftCode, newGiftCode, sumGifts } from '../../domain/gift-code.ts';
import { GIFT_CODES } from '../../domain/policy.ts';

const NOW = new Date('2026-11-29T12:00:00Z');
const LATER = new Date('2026-12-29T12:00:00Z');

describe('newGiftCode', () => {
  it('draws each of its 25 letters evenly from 32, which makes 125 bits', () => {
    const codes = Array.from({ length: 4_000 }, newGiftCode);
    expect(codes[0]).to.match(/^(?:[0-9A-HJKMNP-TV-Z]{5}-){4}[0-9A-HJKMNP-TV-Z]{5}$/);
    const counts = new Map<string, number>();
    for (const letter of codes.map(lettersOfGiftCode).join('')) counts.set(letter, (counts.get(letter) ?? 0) + 1);
    const expected = (4_000 * 25) / 32;
    const chiSquared = [...counts.values()].reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0);
    // 31 degrees of freedom: an even choice exceeds 100 once in 10^9 runs.
    expect(counts.size).to.equal(32);
    expect(chiSquared).to.be.below(100);
    expect(GIFT_CODE_BITS).to.equal(125);
    expect(new Set(codes).size).to.equal(4_000);
  });

  it('makes codes that a million networks, at the limit of guesses for a century, do not find', () => {
    // contract 4.9:8
    const windows = (100 * 365 * 86_400) / GIFT_CODES.windowSeconds;
    const guesses = 1e6 * GIFT_CODES.networkAttempts * windows;
    const openCodes = 1e9;
    expect((guesses * openCodes) / 2 ** GIFT_CODE_BITS).to.be.below(1e-12);
  });
});

describe('lettersOfGiftCode', () => {
  it('reads a code in any case, with any hyphens and spaces, and with misread letters', () => {
    expect(lettersOfGiftCode(' o1il-abc de ')).to.equal('0111ABCDE');
    fc.assert(
      fc.property(fc.constantFrom(0, 1), () => {
        const code = newGiftCode();
        expect(
          lettersOfGiftCode(code.toLowerCase().replaceAll('-', ' ').replaceAll('0', 'o').replaceAll('1', 'l')),
        ).to.equal(code.replaceAll('-', ''));
      }),
    );
  });
});

describe('a batch of gift codes', () => {
  const batch = { requiresSecondApproval: false, approvedAt: null, withdrawnAt: null, expiresAt: LATER };

  it('a batch is open until it expires or is withdrawn, and from its approval on if it needs one', () => {
    expect(giftStatusOf(batch, NOW)).to.equal('open');
    expect(giftStatusOf(batch, LATER)).to.equal('expired');
    expect(giftStatusOf({ ...batch, withdrawnAt: NOW }, NOW)).to.equal('withdrawn');
    expect(giftStatusOf({ ...batch, requiresSecondApproval: true }, NOW)).to.equal('awaiting_approval');
    expect(giftStatusOf({ ...batch, requiresSecondApproval: true, approvedAt: NOW }, NOW)).to.equal('open');
  });

  it('has parts that add up to the issued amount, whatever its state', () => {
    const states = fc.record({
      requiresSecondApproval: fc.boolean(),
      approvedAt: fc.constantFrom(null, NOW),
      withdrawnAt: fc.constantFrom(null, NOW),
      expiresAt: fc.constantFrom(NOW, LATER),
    });
    fc.assert(
      fc.property(
        states,
        fc.bigInt(1n, 10n ** 20n),
        fc.nat(1_000),
        fc.nat(1_000),
        (state, amount, more, redeemedCodes) => {
          const sums = sumGifts({ ...state, amount, codes: redeemedCodes + more, redeemedCodes }, NOW);
          expect(sums.redeemed + sums.open + sums.expired + sums.withdrawn).to.equal(sums.issued);
        },
      ),
    );
  });
});
