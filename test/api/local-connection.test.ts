/** Connections within a process: both ends as streams. */
import { once } from 'node:events';
import { text as readText } from 'node:stream/consumers';
import { expect } from 'chai';
import { connectLocally } from '../../api/local-connection.ts';

describe('a local connection', () => {
  it('passes bytes and ends in both directions, and names the address of the client', async () => {
    const { client, server } = connectLocally('192.0.2.7');
    client.end('question');
    const hasEnded = once(server, 'end');
    expect(String(await once(server, 'data'))).to.equal('question');
    await hasEnded;
    server.end('answer');
    expect(await readText(client)).to.equal('answer');
    expect(server).to.have.property('remoteAddress', '192.0.2.7');
  });

  it('holds a writer until the other end has read', async () => {
    const { client, server } = connectLocally(undefined);
    const large = Buffer.alloc(4 * client.writableHighWaterMark);
    expect(client.write(large)).to.equal(false);
    let isDrained = false;
    const drained = once(client, 'drain').then(() => (isDrained = true));
    await new Promise(setImmediate);
    expect(isDrained).to.equal(false);
    server.resume();
    await drained;
  });

  it('closes when the other end breaks off, and ends after what the other end wrote', async () => {
    const broken = connectLocally(undefined);
    const closed = once(broken.server, 'close');
    broken.client.destroy();
    await closed;
    const ended = connectLocally(undefined);
    ended.server.write('the last words');
    ended.server.destroySoon();
    expect(await readText(ended.client)).to.equal('the last words');
  });
});
