import { readFile } from 'node:fs/promises';
import { expect } from 'chai';
import { clientSchemas, writePython } from '../../bin/tools/client-types.ts';

describe('clients/python', () => {
  it('has types of answers and a synchronous client generated from their sources', async () => {
    for (const [file, text] of await writePython(clientSchemas())) expect(await readFile(file, 'utf8')).to.equal(text);
  });
});
