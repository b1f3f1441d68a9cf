import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { Resolver } from 'node:dns/promises';
import { stat } from 'node:fs/promises';
import { expect } from 'chai';
import { createResolver, type NameServers, type Resolve } from '../../../providers/guard/guarded-connector.ts';
import { rejectionOf } from '../../support/rejection.ts';

function failing(code: string): () => Promise<never> {
  return () => Promise.reject(Object.assign(new Error(code), { code }));
}

const serversOf = (resolve4: () => Promise<string[]>, resolve6: () => Promise<string[]>): NameServers =>
  Object.assign(new Resolver(), { resolve4, resolve6 });

const NEVER: Resolve = () => Promise.reject(new Error('the system was asked'));

describe('the resolver of untrusted names', () => {
  it('returns all addresses of both kinds', async () => {
    const both = serversOf(
      async () => ['192.0.2.1'],
      async () => ['2001:db8::1'],
    );
    expect(await createResolver(both, NEVER)('both.example')).to.deep.equal(['192.0.2.1', '2001:db8::1']);
    const one = serversOf(async () => ['192.0.2.1'], failing('ETIMEOUT'));
    expect(await createResolver(one, NEVER)('one.example')).to.deep.equal(['192.0.2.1']);
  });

  it('asks the system for names unknown to name servers, one name at a time', async () => {
    let underWay = 0;
    let most = 0;
    const resolve = createResolver(serversOf(failing('ENOTFOUND'), failing('ENODATA')), async (hostname) => {
      most = Math.max(most, (underWay += 1));
      await new Promise(setImmediate);
      underWay -= 1;
      if (hostname === 'bad.example') throw new Error('no such name');
      return ['127.0.0.1'];
    });
    const names = ['localhost', 'bad.example', 'hosts.example', 'other.example'];
    const found = await Promise.allSettled(names.map((name) => resolve(name)));
    expect(found.map(({ status }) => status)).to.deep.equal(['fulfilled', 'rejected', 'fulfilled', 'fulfilled']);
    expect(most).to.equal(1);
  });

  it('does not ask the system for a name whose servers are slow or broken', async () => {
    for (const code of ['ETIMEOUT', 'ESERVFAIL']) {
      const error = await rejectionOf(
        createResolver(serversOf(failing(code), failing('ENODATA')), NEVER)('slow.example'),
      );
      expect(error).to.have.property('code', code);
    }
  });

  it('leaves the threads of the process free for files while 100 names are slow', async () => {
    const silent = createSocket('udp4').bind(0, '127.0.0.1');
    await once(silent, 'listening');
    const resolver = new Resolver({ timeout: 5_000, tries: 1 });
    resolver.setServers([`127.0.0.1:${silent.address().port}`]);
    let answered = 0;
    const resolve = createResolver(resolver, NEVER);
    const names = Array.from({ length: 100 }, async (_, index) => {
      await resolve(`${index}.slow.example`).catch(() => {});
      answered += 1;
    });
    await Promise.all(Array.from({ length: 20 }, () => stat('.')));
    expect(answered).to.equal(0);
    resolver.cancel();
    await Promise.all(names);
    silent.close();
  });
});
