import { expect } from 'chai';
import * as fc from 'fast-check';
import Joi from 'joi';
import { choice, createValidator, freeText, linkList, list } from '../../../services/input/validation.ts';
import { createRefusalReader } from '../../support/refusal.ts';

const schema = Joi.object<{ readonly first: string; readonly second?: string; readonly list?: readonly string[] }>({
  first: freeText({ min: 1, max: 3 }).required(),
  second: choice(['a', 'b']),
  list: linkList(2, (text) => text.startsWith('https://')),
}).without('second', ['list']);
const validate = createValidator(schema, { model: 'm-1', names: new Set(['other']) });

const refusalOf = createRefusalReader(validate);

describe('validation of bodies', () => {
  it('returns the value that it checked', () => {
    expect(validate({ first: 'abc', second: 'b' })).to.deep.equal({ first: 'abc', second: 'b' });
  });

  for (const body of [null, undefined, [], 'text', 7, true]) {
    it(`refuses ${JSON.stringify(body)}, which is not an object`, () => {
      // contract 4.1:9
      expect(refusalOf(body)).to.equal('The request body must be a JSON object');
    });
  }

  it('reports the error of the field that comes first in the schema, whatever the order of the body', () => {
    // contract 4.1:8
    expect(refusalOf({ foo: 1, other: 1, list: [], second: 'c', first: 4 })).to.equal('"first" must be a string');
    expect(refusalOf({ foo: 1, other: 1, list: [], second: 'c', first: 'x' })).to.equal(
      '"second" must be one of: [a b]',
    );
    expect(refusalOf({ foo: 1, other: 1, list: [], first: 'x' })).to.equal('"list" requires at least 1 item');
    expect(refusalOf({ foo: 1, other: 1, first: 'x' })).to.equal('field "other" is not supported by model m-1');
    expect(refusalOf({ foo: 1, bar: 1, first: 'x' })).to.equal('unknown field: foo');
  });

  it('reports fields that exclude each other after the errors of the first of them', () => {
    expect(refusalOf({ first: 'x', second: 'a', list: [] })).to.equal('Cannot combine "second" with "list"');
    expect(refusalOf({ first: 'x', second: 'c', list: [] })).to.equal('"second" must be one of: [a b]');
  });

  it('counts code points: a CJK character or an emoji is one', () => {
    expect(refusalOf({ first: '汉字漢' })).to.equal('accepted');
    expect(refusalOf({ first: '😀😀😀' })).to.equal('accepted');
    expect(refusalOf({ first: '😀😀😀a' })).to.equal('"first" has an unsupported length');
    expect(refusalOf({ first: '' })).to.equal('"first" has an unsupported length');
  });

  it('refuses text that the database cannot store', () => {
    // contract 4.2:33
    for (const text of ['a\0', '\uD83D', '\uDE00', '\uDE00\uD83D']) {
      expect(refusalOf({ first: text })).to.equal('"first" must not contain NUL characters or unpaired surrogates');
      expect(refusalOf({ first: 'x', list: [`https://${text}`] })).to.equal('"list[0]" must be a public HTTPS URL');
    }
  });

  for (const field of ['__proto__', 'constructor', 'toString', 'hasOwnProperty', '']) {
    it(`treats ${JSON.stringify(field)} as an unknown field`, () => {
      const body: unknown = JSON.parse(`{"first":"x",${JSON.stringify(field)}:{"first":"y"}}`);
      expect(refusalOf(body)).to.equal(`unknown field: ${field}`);
    });
  }

  it('reads no field that the body only inherits', () => {
    const body: unknown = JSON.parse('{"__proto__":{"first":"x"}}');
    expect(refusalOf(body)).to.equal('"first" is required');
  });

  it('answers one sentence to a hundred thousand errors', () => {
    const many = Array.from({ length: 100_000 }, (_, index) => index);
    expect(refusalOf({ first: 'x', list: many })).to.equal('"list" accepts at most 2 items');
    const fields = Object.fromEntries(many.map((index) => [`field${index}`, index]));
    expect(refusalOf({ ...fields, first: 'x' })).to.equal('unknown field: field0');
  });

  it('checks no item of a list that is too long, also where a value may have several forms', () => {
    let checked = 0;
    const item = Joi.any().custom((value: unknown) => {
      checked += 1;
      return value;
    });
    const items = list(item, { max: 2 });
    const refusal = createRefusalReader(createValidator(Joi.object({ items, either: Joi.alternatives('x', items) })));
    expect(refusal({ items: ['a', 'b'] })).to.equal('accepted');
    expect(checked).to.equal(2);
    expect(refusal({ items: ['a', 'b', 'c'] })).to.equal('"items" accepts at most 2 items');
    expect(refusal({ either: ['a', 'b', 'c'] })).to.match(/^"either"/);
    expect(checked).to.equal(2);
  });

  it('does not change the body', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom('first', 'second', 'list', 'foo'), fc.jsonValue()), (body) => {
        const before = JSON.stringify(body);
        refusalOf(body);
        expect(JSON.stringify(body)).to.equal(before);
      }),
    );
  });
});
