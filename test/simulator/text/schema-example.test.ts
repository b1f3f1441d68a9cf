import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { expect } from 'chai';
import * as fc from 'fast-check';
import { exampleOf } from '../../../simulator/text/schema-example.ts';
import { casesOf } from '../../support/properties.ts';

const ajv = addFormats.default(new Ajv2020({ strict: false }));

const names = fc.constantFrom('a', 'b', 'c', 'd');
const schemas = fc.letrec<{ schema: object }>((tie) => ({
  schema: fc.oneof(
    { depthSize: 'small' },
    fc.record({ type: fc.constant('string'), minLength: fc.nat(20) }),
    fc.record({ type: fc.constant('string'), format: fc.constantFrom('date', 'date-time', 'email', 'uri', 'uuid') }),
    fc.record({ type: fc.constant('string'), maxLength: fc.nat(10) }),
    fc.record({ type: fc.constant('integer'), minimum: fc.integer(), multipleOf: fc.integer({ min: 1, max: 9 }) }),
    fc.record({ type: fc.constant('integer'), exclusiveMinimum: fc.integer({ min: -99, max: 99 }) }),
    fc.record({ type: fc.constant('number'), maximum: fc.integer() }),
    fc.record({ type: fc.constantFrom('boolean', 'null') }),
    fc.record({ type: fc.constant(['integer', 'null']) }),
    fc.record({ enum: fc.array(fc.string(), { minLength: 1 }) }),
    fc.record({ const: fc.oneof(fc.string(), fc.integer()) }),
    fc.record({ type: fc.constant('array'), items: tie('schema'), minItems: fc.nat(3) }),
    fc.record({ anyOf: fc.array(tie('schema'), { minLength: 1, maxLength: 2 }) }),
    fc
      .record({ properties: fc.dictionary(names, tie('schema')), required: fc.uniqueArray(names) })
      .map((object) => ({ type: 'object', additionalProperties: true, ...object })),
  ),
})).schema;

describe('the example of a JSON schema', () => {
  it('matches the schema', () => {
    fc.assert(
      fc.property(schemas, (schema) => {
        expect(ajv.validate(schema, exampleOf(schema)), JSON.stringify(schema)).to.equal(true);
      }),
      { numRuns: casesOf(300) },
    );
  });

  it('follows references, and has the properties of all parts', () => {
    const schema = {
      type: 'object',
      $defs: { 'a/b': { type: 'integer', minimum: 4 } },
      allOf: [
        { properties: { one: { $ref: '#/$defs/a~1b' } }, required: ['one'] },
        { properties: { two: { type: 'boolean' } }, required: ['two'] },
      ],
    };
    expect(exampleOf(schema)).to.deep.equal({ one: 4, two: true });
  });

  it('accepts types in capitals', () => {
    expect(exampleOf({ type: 'ARRAY', items: { type: 'STRING' }, minItems: 1 })).to.deep.equal(['example']);
  });

  it('terminates for schemas that refer to themselves', () => {
    const properties = Object.fromEntries('abcdefghij'.split('').map((name) => [name, { $ref: '#' }]));
    const schema = { type: 'object', properties, required: Object.keys(properties) };
    expect(JSON.stringify(exampleOf(schema)).length).to.be.lessThan(100_000);
    expect(exampleOf({ $ref: '#' })).to.equal('example');
  });

  it('the simulator finds an example for any schema', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (schema) => {
        expect(() => JSON.stringify(exampleOf(schema))).not.to.throw();
      }),
    );
  });
});
