/** The table of docs/clients.md against the clients that `npm run clients` installs. */
import { expect } from 'chai';
import { CLIENTS } from '../../../lab/clients/clients.ts';
import { findDocumented } from '../../../lab/clients/documented.ts';
import { OPENAPI_GENERATOR_PACKAGES, PYTHON_PACKAGES, TYPESCRIPT_PACKAGES } from '../../../lab/clients/generated.ts';

const PLACE = { apiUrl: 'http://api', textUrl: 'http://text', apiKey: 'sk-1', model: 'demo-chat' };

describe('docs/clients.md', () => {
  for (const { name, packages } of CLIENTS) {
    if (packages.from === 'none') continue;
    const [, version = ''] = packages.names[0].split(/==|(?<=.)@/);
    it(`names the tested version of ${name}, ${version}`, () => {
      expect(findDocumented(name, PLACE).versions).to.include(version);
    });
  }

  it('names the tested versions of the generators of clients', () => {
    const versionOf = ([generator = '']: readonly string[]) => generator.split(/==|@/)[1];
    const versions = [PYTHON_PACKAGES, TYPESCRIPT_PACKAGES].map(versionOf);
    expect(findDocumented('openapi-python-client', PLACE).versions).to.deep.equal(versions);
    expect(findDocumented('OpenAPI Generator', PLACE).versions).to.deep.equal([versionOf(OPENAPI_GENERATOR_PACKAGES)]);
  });

  it('gives each client the address that serves its requests', () => {
    const settings = CLIENTS.map(({ name }) => findDocumented(name, PLACE));
    for (const { env, config } of settings) {
      expect(config + JSON.stringify(env)).not.to.match(/MODEL\b(?!")|sk-…|127\.0\.0\.1/);
      for (const [name, value] of Object.entries(env))
        if (name.endsWith('_URL')) expect(value).to.match(/^http:\/\/text/);
    }
    expect(settings.filter(({ config }) => config.includes('http://text/v1'))).to.have.length.above(3);
  });
});
