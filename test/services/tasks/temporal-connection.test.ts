import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { loadConfig } from '../../../config.ts';
import { connectionOptions } from '../../../services/tasks/temporal-connection.ts';
import { REQUIRED_VARIABLES } from '../../support/configuration.ts';
import { useTestFolder } from '../../support/started.ts';

describe('the connection to Temporal', () => {
  const folder = useTestFolder();
  const optionsOf = (environment: Readonly<Record<string, string>>) =>
    connectionOptions(loadConfig({ ...REQUIRED_VARIABLES, ...environment }).temporal);

  async function folderWith(...names: readonly string[]): Promise<string> {
    const certificates = join(folder, names.join('+') || 'empty');
    await mkdir(certificates);
    for (const name of names) await writeFile(join(certificates, name), name);
    return certificates;
  }

  it('uses TLS only if the configuration has an API key or requests TLS', () => {
    expect(optionsOf({})).to.deep.equal({ address: '127.0.0.1:7233' });
    expect(optionsOf({ TEMPORAL_API_KEY: 'key' })).to.deep.equal({
      address: '127.0.0.1:7233',
      apiKey: 'key',
      tls: true,
    });
  });

  it('presents the certificates of the folder in TEMPORAL_TLS', async () => {
    expect(optionsOf({ TEMPORAL_TLS: await folderWith('ca.crt') }).tls).to.deep.equal({
      serverRootCACertificate: Buffer.from('ca.crt'),
    });
    expect(optionsOf({ TEMPORAL_TLS: await folderWith('tls.crt', 'tls.key') }).tls).to.deep.equal({
      clientCertPair: { crt: Buffer.from('tls.crt'), key: Buffer.from('tls.key') },
    });
  });

  it('refuses a client certificate without its key', async () => {
    const certificates = await folderWith('tls.crt');
    expect(() => optionsOf({ TEMPORAL_TLS: certificates })).to.throw('tls.key');
  });

  it('refuses a folder that does not exist', () => {
    expect(() => optionsOf({ TEMPORAL_TLS: join(folder, 'missing') })).to.throw('missing');
  });
});
