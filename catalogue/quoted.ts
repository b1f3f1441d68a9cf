/** Values that a catalogue quotes, because YAML would round them or read them as something else. */
import Joi from 'joi';
import { type PicoUsd, parseUsd } from '../domain/money.ts';

/** A quoted string, which `parse` turns into a value or refuses. */
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
