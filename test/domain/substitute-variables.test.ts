import { expect } from 'chai';
import { substituteVariables, writePath } from '../../domain/substitute-variables.ts';

describe('values of the environment in files of operators', () => {
  const read = (name: string): string | undefined => ({ KEY: 'sk-1', EMPTY: '' })[name];

  it('may be in any string, several in one, but not in names of fields', () => {
    const document = { '${KEY}': ['${KEY}', { deep: 'Bearer ${KEY}${EMPTY}!' }], other: [1, true, null] };
    expect(substituteVariables(document, read)).to.deep.equal({
      filled: { '${KEY}': ['sk-1', { deep: 'Bearer sk-1!' }], other: [1, true, null] },
      missing: [],
    });
  });

  it('leave everything else unchanged, and turn two dollars into one', () => {
    for (const [text, filled] of [
      ['$KEY costs $5', '$KEY costs $5'],
      ['$${KEY}', '${KEY}'],
      ['${not a name}', '${not a name}'],
    ] as const) {
      expect(substituteVariables(text, read).filled).to.equal(filled);
    }
  });

  it('values of the environment are named with their fields if they are not set', () => {
    const { missing } = substituteVariables({ media: [{ api_key: '${FAL_KEY}' }, { api_key: '${ARK_KEY}' }] }, read);
    expect(missing.map(({ path, name }) => `${writePath(path)}: ${name}`)).to.deep.equal([
      'media[0].api_key: FAL_KEY',
      'media[1].api_key: ARK_KEY',
    ]);
  });
});
