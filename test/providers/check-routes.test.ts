import { expect } from 'chai';
import { parseOperatorFile, writeFindings } from '../../catalogue/operator-file.ts';
import { checkRoutes } from '../../providers/check-routes.ts';

/** The findings for a route of text. */
function findingsOf(route: string): readonly string[] {
  const text = `text:\n  families:\n    - family: a\n      routes: [${route}]\n      models: [{ id: a }]\n`;
  const file = parseOperatorFile(text, 'catalogue.yaml', () => undefined);
  const formats = ['messages'];
  const known = {
    media: new Map(),
    text: new Map([
      ['anthropic', formats],
      ['vertex', formats],
    ]),
    clouds: new Set(['vertex']),
  };
  return writeFindings(checkRoutes(file, known));
}

describe('the check of routes', () => {
  it('accepts batches of a vendor', () => {
    expect(findingsOf('{ provider: anthropic, format: messages, batch: native }')).to.deep.equal([]);
  });

  it('refuses batches of a cloud, and names the field', () => {
    const [finding, ...others] = findingsOf('{ provider: vertex, format: messages, batch: native }');
    expect(finding).to.include('"text.families[0].routes[0].batch" must be left out');
    expect(others).to.deep.equal([]);
  });
});
