import { expect } from 'chai';
import { answerSchemaOf } from '../../../text/messages/schema.ts';

describe('the schema of an answer for a messages upstream', () => {
  it('has closed objects at any depth', () => {
    const inner = { type: 'object', properties: { n: { type: 'integer' } } };
    const schema = {
      $defs: { inner },
      properties: { list: { items: inner }, one: { anyOf: [inner, { type: 'null' }] } },
    };
    const closed = { ...inner, additionalProperties: false };
    expect(answerSchemaOf(schema)).to.deep.equal({
      $defs: { inner: closed },
      properties: { list: { items: closed }, one: { anyOf: [closed, { type: 'null' }] } },
      additionalProperties: false,
    });
  });

  it('keeps the client’s rule for additional properties', () => {
    const open = { type: 'object', additionalProperties: { type: 'string' } };
    expect(answerSchemaOf(open)).to.deep.equal(open);
  });

  it('has its limits in words', () => {
    const schema = { type: 'integer', description: 'A month', minimum: 1, maximum: 12 };
    expect(answerSchemaOf(schema)).to.deep.equal({
      type: 'integer',
      description: 'A month\n\n{"minimum":1,"maximum":12}',
    });
  });

  it('treats properties named like keywords as properties', () => {
    const schema = { type: 'object', properties: { minimum: { type: 'number' } }, additionalProperties: false };
    expect(answerSchemaOf(schema)).to.deep.equal(schema);
  });
});
