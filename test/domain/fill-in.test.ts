import { expect } from 'chai';
import { fillIn } from '../../domain/fill-in.ts';

describe('values of the environment in files of operators', () => {
  const read = (name: string): string | undefined => ({ KEY: 'sk-1', EMPTY: '' })[name];

  it('stand in any string, several in one, but not in names of fields', () => {
    const document = { '${KEY}': ['${KEY}', { deep: 'Bearer ${KEY}${EMPTY}!' }], other: [1, true, null] };
    expect(fillIn(document, read)).to.deep.equal({
      '${KEY}': ['sk-1', { deep: 'Bearer sk-1!' }],
      other: [1, true, null],
    });
  });

  it('leave everything else as it is, and two dollars as one', () => {
    for (const [text, filled] of [
      ['$KEY costs $5', '$KEY costs $5'],
      ['$${KEY}', '${KEY}'],
      ['${not a name}', '${not a name}'],
    ] as const) {
      expect(fillIn(text, read)).to.equal(filled);
    }
  });

  it('that are not set are told by field and name', () => {
    expect(() => fillIn({ media: [{ api_key: '${FAL_KEY}' }] }, read)).to.throw(
      RangeError,
      '"media[0].api_key" needs the environment variable FAL_KEY, which is not set',
    );
  });
});
