/** A user of the console: signs in by an invitation, and requests pages. */
import { randomBytes, randomUUID } from 'node:crypto';
import { request } from 'undici';
import { type Administration, make } from '../../stack/accounts.ts';

export interface Looked {
  readonly status: number;
  readonly bytes: number;
  readonly ms: number;
}

/** A page, or the part that a form shows. */
export interface Address {
  readonly path: string;
  readonly form?: Readonly<Record<string, string>>;
}

export interface Browser {
  look(address: Address): Promise<Looked>;
}

/** An operator of the gateway who is a member of that account, too. @throws Error when the invitation does not work */
export async function signIn({ apiUrl, adminToken }: Administration, accountId: string): Promise<Browser> {
  const { link } = await make(`${apiUrl}/admin/v1/users`, adminToken, {
    email: `${randomBytes(6).toString('hex')}@example.com`,
    name: 'Somebody',
    staff_role: 'operator',
    account_id: accountId,
    member_role: 'owner',
  });
  const password = randomBytes(12).toString('hex');
  const welcomed = await request(apiUrl + new URL(link).pathname, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ password, repeated: password, form_id: randomUUID() }).toString(),
  });
  await welcomed.body.dump();
  const [cookie] = [welcomed.headers['set-cookie'] ?? []].flat();
  if (cookie === undefined) throw new Error(`the invitation was answered ${welcomed.statusCode}, without a session`);
  const headers = { cookie: cookie.split(';')[0] ?? '' };
  const profile = await request(`${apiUrl}/console/profile`, { headers });
  const [, formToken = ''] = /name="form_token" value="([^"]+)"/.exec(await profile.body.text()) ?? [];
  return {
    look: async ({ path, form }) => {
      const body = form && new URLSearchParams({ ...form, form_token: formToken, form_id: randomUUID() }).toString();
      const startedAt = performance.now();
      const answer = await request(`${apiUrl}/console${path}`, {
        headers: { ...headers, ...(body !== undefined && { 'content-type': 'application/x-www-form-urlencoded' }) },
        ...(body !== undefined && { method: 'POST', body }),
      });
      const bytes = (await answer.body.arrayBuffer()).byteLength;
      return { status: answer.statusCode, bytes, ms: performance.now() - startedAt };
    },
  };
}
