/** Somebody who looks at the console: signs in by an invitation, and asks for pages. */
import { randomBytes } from 'node:crypto';
import Joi from 'joi';
import { request } from 'undici';
import type { Administration } from '../../stack/accounts.ts';

export interface Looked {
  readonly status: number;
  readonly bytes: number;
  readonly ms: number;
}

export interface Browser {
  look(path: string): Promise<Looked>;
}

const invitation = Joi.object<{ data: { link: string } }>({
  data: Joi.object({ link: Joi.string().required() }).unknown(true).required(),
}).required();

/** An operator of the gateway who is a member of that account, too. @throws Error when the invitation does not work */
export async function signIn({ apiUrl, adminToken }: Administration, accountId: string): Promise<Browser> {
  const invited = await request(`${apiUrl}/admin/v1/users`, {
    method: 'POST',
    headers: { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      email: `${randomBytes(6).toString('hex')}@example.com`,
      name: 'Somebody',
      staff_role: 'operator',
      account_id: accountId,
      member_role: 'owner',
    }),
  });
  const { data } = Joi.attempt(await invited.body.json(), invitation);
  const password = randomBytes(12).toString('hex');
  const welcomed = await request(apiUrl + new URL(data.link).pathname, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ password, repeated: password }).toString(),
  });
  await welcomed.body.dump();
  const [cookie] = [welcomed.headers['set-cookie'] ?? []].flat();
  if (cookie === undefined) throw new Error(`the invitation was answered ${welcomed.statusCode}, without a session`);
  const headers = { cookie: cookie.split(';')[0] ?? '' };
  return {
    look: async (path) => {
      const startedAt = performance.now();
      const answer = await request(`${apiUrl}/console${path}`, { headers });
      const bytes = (await answer.body.arrayBuffer()).byteLength;
      return { status: answer.statusCode, bytes, ms: performance.now() - startedAt };
    },
  };
}
