import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect } from 'chai';
import * as fc from 'fast-check';
import type { JsonObject } from '../../domain/json.ts';
import { violationOf } from '../../text/json-schema.ts';
import { casesOf } from '../support/properties.ts';

const fits = (schema: JsonObject, value: unknown): boolean => violationOf(schema, value) === null;

/** Schemas of the known keywords, nested to this depth. */
function schemaOf(depth: number): fc.Arbitrary<JsonObject> {
  if (depth === 0) return fc.constantFrom({}, { type: 'string' }, { const: 1 });
  const inner = schemaOf(depth - 1);
  const alternatives = fc.array(inner, { minLength: 1, maxLength: 2 });
  return fc.record(
    {
      type: fc.constantFrom('object', 'array', 'string', 'integer', 'number', 'boolean', 'null', ['string', 'null']),
      properties: fc.dictionary(fc.constantFrom('a', 'b', 'c'), inner, { maxKeys: 2 }),
      required: fc.uniqueArray(fc.constantFrom('a', 'b'), { maxLength: 2 }),
      additionalProperties: fc.boolean(),
      items: inner,
      enum: fc.uniqueArray(fc.constantFrom(0, 1, 'a', true, null), { minLength: 1, maxLength: 2 }),
      const: fc.constantFrom(0, 1, 'a', null),
      anyOf: alternatives,
      oneOf: alternatives,
      allOf: alternatives,
      not: inner,
      minimum: fc.integer({ min: -1, max: 1 }),
      exclusiveMaximum: fc.integer({ min: 0, max: 2 }),
      minLength: fc.integer({ min: 0, max: 2 }),
      maxItems: fc.integer({ min: 0, max: 2 }),
    },
    { requiredKeys: [] },
  );
}

const { value: anyValue } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 2 },
    fc.constantFrom(null, true, 0, 1, 1.5, 'a', '', 'abc'),
    fc.array(tie('value'), { maxLength: 2 }),
    fc.dictionary(fc.constantFrom('a', 'b', 'd'), tie('value'), { maxKeys: 2 }),
  ),
}));

describe('the check of a value against a JSON Schema', () => {
  it('agrees with Ajv', () => {
    // Ajv compiles its own schema of schemas once for each instance.
    const ajv = new Ajv2020({ strict: false, addUsedSchema: false });
    fc.assert(
      fc.property(schemaOf(2), anyValue, (schema, value) => {
        expect(fits(schema, value)).to.equal(ajv.validate(schema, value));
      }),
      { numRuns: casesOf(100) },
    );
  });

  it('follows references within the schema, also recursive ones', () => {
    const tree = {
      $defs: { node: { type: 'object', properties: { next: { $ref: '#/$defs/node' } } } },
      $ref: '#/$defs/node',
    };
    expect(fits(tree, { next: { next: {} } })).to.equal(true);
    expect(fits(tree, { next: { next: 1 } })).to.equal(false);
  });

  it('reports the place of the error, in words of the schema', () => {
    const schema = {
      properties: { list: { items: { properties: { n: { minimum: 3 } } } }, closed: { additionalProperties: false } },
    };
    expect(violationOf(schema, { list: [{ n: 3 }, { n: 2 }] })).to.equal('"list[1].n" is beyond its "minimum"');
    expect(violationOf(schema, { closed: { secret: 1 } })).to.equal(
      '"closed" has a property that its schema does not have',
    );
  });

  it('terminates for schemas that refer to themselves, or grow without bounds', () => {
    expect(fits({ $ref: '#' }, 1)).to.equal(true);
    const doubling = { anyOf: [{ allOf: [{ $ref: '#' }, false] }, { allOf: [{ $ref: '#' }, false] }] };
    expect(fits(doubling, 1)).to.be.a('boolean');
    const wide = { items: { enum: Array.from({ length: 10_000 }, (_, index) => index) } };
    expect(
      fits(
        wide,
        Array.from({ length: 10_000 }, () => 'x'),
      ),
    ).to.equal(false);
  });
});
