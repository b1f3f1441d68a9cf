import { expect } from 'chai';
import { ServiceError } from '../../../domain/errors.ts';
import type { JsonObject } from '../../../domain/json.ts';
import { createSchemaSizeBudget, withoutReferences } from '../../../text/generate-content/schema.ts';

function replaced(schema: JsonObject): JsonObject {
  return withoutReferences(schema, createSchemaSizeBudget());
}

describe('references in a JSON Schema', () => {
  it('are replaced by their definitions, keeping sibling keywords', () => {
    const schema = {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      properties: {
        from: { $ref: '#/$defs/Place', description: 'Where it begins' },
        stops: { type: 'array', items: { $ref: '#/properties/from' } },
        odd: { $ref: '#/definitions/a~1b' },
      },
      $defs: { Place: { type: 'object', properties: { name: { $ref: '#/$defs/Name' } } }, Name: { type: 'string' } },
      definitions: { 'a/b': { type: 'integer' } },
    };
    const place = { type: 'object', properties: { name: { type: 'string' } } };
    expect(replaced(schema)).to.deep.equal({
      type: 'object',
      properties: {
        from: { ...place, description: 'Where it begins' },
        stops: { type: 'array', items: { ...place, description: 'Where it begins' } },
        odd: { type: 'integer' },
      },
    });
  });

  it('are not replaced outside of schemas', () => {
    const schema = { type: 'object', properties: { $ref: { type: 'string' } }, default: { $ref: '#/$defs/A' } };
    expect(replaced(schema)).to.deep.equal(schema);
  });

  it('stay, with the definitions, where the schema is recursive', () => {
    const $defs = { Tree: { type: 'object', properties: { left: { $ref: '#/$defs/Tree' } } } };
    expect(replaced({ $ref: '#/$defs/Tree', $defs })).to.deep.equal({ ...$defs.Tree, $defs });
  });

  it('stay where they point outside the schema or to nothing', () => {
    const properties = {
      far: { $ref: 'https://example.com/schema', description: 'Far', title: 'Dropped' },
      none: { $ref: '#/$defs/None/toString' },
    };
    expect(replaced({ properties, $defs: {} })).to.deep.equal({
      properties: { far: { $ref: 'https://example.com/schema', description: 'Far' }, none: properties.none },
      $defs: {},
    });
  });

  it('are refused when they make a small schema huge', () => {
    const levels = Array.from({ length: 30 }, (_, level) => {
      const next = { $ref: `#/$defs/L${level + 1}` };
      return [`L${level}`, { properties: { a: next, b: next } }];
    });
    const schema = { $ref: '#/$defs/L0', $defs: { ...Object.fromEntries(levels), L30: { type: 'string' } } };
    expect(() => replaced(schema))
      .to.throw(ServiceError, 'too large')
      .with.property('code', 'bad_request');
  });

  it('are refused when they form a long chain', () => {
    const links = Array.from({ length: 40 }, (_, link) => [`L${link}`, { items: { $ref: `#/$defs/L${link + 1}` } }]);
    expect(() => replaced({ $ref: '#/$defs/L0', $defs: Object.fromEntries(links) })).to.throw(
      ServiceError,
      'too large',
    );
  });
});
