import { expect } from 'chai';
import { createPublicUrlCheck } from '../../services/check-public-url.ts';
import { rejectionOf } from '../support/rejection.ts';

const URL = 'https://hooks.example.com/genway';

describe('the check of URLs from clients', () => {
  for (const addresses of [['127.0.0.1'], ['8.8.8.8', '10.0.0.1'], ['fd00::1'], ['::ffff:169.254.169.254']]) {
    it(`refuses a name that leads to [${addresses.join(', ')}]`, async () => {
      const check = createPublicUrlCheck({ allowPrivateAddresses: false, resolve: async () => addresses });
      expect((await rejectionOf(check(URL))).message).to.equal('"url" must be a public HTTPS URL');
    });
  }

  it('accepts a name that leads only to public addresses, and looks up that name', async () => {
    const asked: string[] = [];
    const resolve = async (name: string): Promise<string[]> => {
      asked.push(name);
      return ['8.8.8.8', '2606:4700:4700::1111'];
    };
    await createPublicUrlCheck({ allowPrivateAddresses: false, resolve })(URL);
    expect(asked).to.deep.equal(['hooks.example.com']);
  });

  it('accepts a name that does not resolve yet, since every delivery is checked again', async () => {
    await createPublicUrlCheck({
      allowPrivateAddresses: false,
      resolve: () => Promise.reject(new Error('no such name')),
    })(URL);
  });

  it('lets tests use this machine, and no other private address', async () => {
    const [permitted, refused] = ['127.0.0.1', '10.0.0.1'].map((address) =>
      createPublicUrlCheck({ allowPrivateAddresses: true, resolve: async () => [address] })(URL),
    );
    await permitted;
    expect((await rejectionOf(refused ?? Promise.resolve())).name).to.equal('ServiceError');
  });
});
