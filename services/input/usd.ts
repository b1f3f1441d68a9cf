/** Amounts of money in request bodies. */
import Joi from 'joi';
import { parseUsd } from '../../domain/money.ts';

/** More than any real top-up, and within the range of every column. */
const MAX_AMOUNT_USD = 10 ** 12;
const MAX_AMOUNT = parseUsd(MAX_AMOUNT_USD);

interface UsdRule {
  readonly kind: string;
  readonly isAllowed: (amount: bigint) => boolean;
  readonly sentence: string;
  /** The parts of the rule that JSON Schema can express. */
  readonly openapi: { readonly number: object; readonly pattern: string };
}

/** Amounts may be numbers or decimal strings; both are read exactly. */
function usd({ kind, isAllowed, sentence, openapi }: UsdRule): Joi.AnySchema<string | number> {
  return Joi.alternatives(Joi.string(), Joi.number().unsafe())
    .custom((value: string | number, helpers) => {
      try {
        const amount = parseUsd(value);
        if (!isAllowed(amount)) return helpers.error(kind);
        const isTooLarge = amount > MAX_AMOUNT || amount < -MAX_AMOUNT;
        return isTooLarge ? helpers.error('usd.tooLarge', { limit: MAX_AMOUNT_USD }) : value;
      } catch {
        return helpers.error(kind);
      }
    })
    .messages({
      '*': `{{#label}} must be ${sentence}`,
      'usd.tooLarge': `{{#label}} must be at most ${MAX_AMOUNT_USD} USD`,
    })
    .meta({
      openapi: {
        oneOf: [
          { type: 'number', maximum: MAX_AMOUNT_USD, ...openapi.number },
          { type: 'string', pattern: openapi.pattern },
        ],
      },
    });
}

const UNSIGNED_DECIMAL = String.raw`^\d{1,13}(\.\d{1,12})?$`;

export const positiveUsd = usd({
  kind: 'usd.positive',
  isAllowed: (amount) => amount > 0n,
  sentence: 'an amount in USD above 0, such as 25 or "25.50"',
  openapi: { number: { exclusiveMinimum: 0 }, pattern: UNSIGNED_DECIMAL },
});
export const nonNegativeUsd = usd({
  kind: 'usd.nonNegative',
  isAllowed: (amount) => amount >= 0n,
  sentence: 'an amount in USD, 0 or more',
  openapi: { number: { minimum: 0 }, pattern: UNSIGNED_DECIMAL },
});
export const signedUsd = usd({
  kind: 'usd.signed',
  isAllowed: (amount) => amount !== 0n,
  sentence: 'an amount in USD other than 0; use a minus to debit',
  openapi: {
    number: { minimum: -MAX_AMOUNT_USD, not: { const: 0 } },
    pattern: UNSIGNED_DECIMAL.replace('^', '^-?'),
  },
});
