/** Values that must be quoted in a catalogue, because YAML would round them or read them as another type. */
import Joi from 'joi';
import { type PicoUsd, parseUsd } from '../domain/money.ts';

/** The schema of a quoted string, which `parse` converts or refuses. */
export const quoted = (parse: (text: string) => unknown): Joi.StringSchema =>
  Joi.string()
    .required()
    .custom(parse)
    .messages({ 'string.base': '{{#label}} must be quoted', 'any.custom': '{{#label}} is wrong: {{#error.message}}' });

export const usd = quoted(parsePrice);

function parsePrice(text: string): PicoUsd {
  const price = parseUsd(text);
  if (price < 0n) throw new RangeError(`a price must not be negative: ${text}`);
  return price;
}
