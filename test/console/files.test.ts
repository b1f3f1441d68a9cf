import { expect } from 'chai';
import { useAccount, useTestConsole, useVisitor } from '../support/console.ts';
import { uploadImage } from '../support/uploads.ts';

const NAME = '<img src=x onerror=alert(1)>';

describe('the files page', () => {
  const app = useTestConsole();
  const customer = useAccount(app, { fundedUsd: 25 });
  const owner = useVisitor(app, () => ({ email: 'owner@example.com', account_id: customer.accountId }));
  let path: string;

  before(() => {
    path = `/console/accounts/${customer.accountId}/files`;
  });

  it('shows how to upload where there are no files', async () => {
    expect((await owner.get(path)).text)
      .to.include('No files yet')
      .and.include('POST /v1/files');
  });

  it('shows pictures as images, and names as text, and lists each file once, page by page', async () => {
    const { url } = await uploadImage(app, customer.apiKey, NAME);
    await Promise.all(Array.from({ length: 29 }, (_, count) => uploadImage(app, customer.apiKey, `picture ${count}`)));
    const first = await owner.get(path);
    const next = /href="([^"]+)">Older</.exec(first.text)?.[1] ?? '';
    const second = await owner.get(next);
    expect([first, second].map(({ text }) => text.split('<li><div class="frame">').length - 1)).to.deep.equal([24, 6]);
    expect(second.text).to.include(`<img src="${url}"`).and.include('&lt;img src=x').and.not.include('<img src=x');
  });

  it('deletes a file, whose link stops working at once', async () => {
    const { id, url } = await uploadImage(app, customer.apiKey, 'to be deleted');
    expect((await fetch(url)).status).to.equal(200);
    expect((await owner.get(`${path}/${id}/delete`)).text).to.include('Delete to be deleted.png?');
    expect((await owner.send(`${path}/${id}/delete`)).headers['location']).to.equal(path);
    expect((await fetch(url)).status).to.equal(404);
    expect((await owner.get(path)).text).not.to.include('to be deleted.png');
    expect((await owner.send(`${path}/${id}/delete`)).status).to.equal(404);
  });

  it('shows no files of another account', async () => {
    const { apiKey } = await app.createAccount({ fundedUsd: 1 });
    await uploadImage(app, apiKey, 'of another account');
    expect((await owner.get(path)).text).not.to.include('of another account');
  });
});
