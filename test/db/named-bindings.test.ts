import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';

const FOLDER = join(import.meta.dirname, '../../db');
/** A call of `raw` or `whereRaw` whose bindings are a list. */
const POSITIONAL = /(?:raw|Raw)(?:<[^`;]*?>)?\(\s*(?:\/\* sql \*\/\s*)?(?:`[^`]*`|'[^']*'|\w+),\s*\[/;

describe('the statements of db/', () => {
  it('name their bindings', () => {
    const files = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
    expect(files).to.not.be.empty;
    expect(files.filter((file) => POSITIONAL.test(readFileSync(join(FOLDER, file), 'utf8')))).to.deep.equal([]);
  });
});
