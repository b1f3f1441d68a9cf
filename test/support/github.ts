/** A GitHub Enterprise Server on this machine, as far as the sign-in needs it. */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { newId } from '../../domain/ids.ts';

interface GitHubUser {
  readonly id: number;
  readonly emails: readonly { readonly email: string; readonly primary: boolean; readonly verified: boolean }[];
}

export interface TestGitHub {
  readonly issuer: string;
  /** The user who authorizes. */
  user: GitHubUser;
  /** Authorizes at the address that Genway redirects to. @returns the path and query of the redirect back */
  signIn(url: string): string;
  stop(): Promise<void>;
}

interface Grant {
  readonly user: GitHubUser;
  readonly challenge: string;
}

export async function startGitHub(clientSecret: string): Promise<TestGitHub> {
  const grants = new Map<string, Grant>();
  const tokens = new Map<string, GitHubUser>();
  const answer = async (request: IncomingMessage): Promise<unknown> => {
    if (request.url === '/login/oauth/access_token') {
      const form = new URLSearchParams(await text(request));
      const grant = grants.get(form.get('code') ?? '');
      grants.delete(form.get('code') ?? '');
      const challenge = createHash('sha256')
        .update(form.get('code_verifier') ?? '')
        .digest('base64url');
      if (!grant || grant.challenge !== challenge || form.get('client_secret') !== clientSecret)
        return { error: 'bad_verification_code' };
      const token = newId('request');
      tokens.set(token, grant.user);
      return { access_token: token, token_type: 'bearer', scope: 'user:email' };
    }
    const user = tokens.get((request.headers.authorization ?? '').replace(/^bearer /i, ''));
    if (!user) return null;
    return request.url === '/api/v3/user' ? { id: user.id, login: 'octocat', email: null } : user.emails;
  };
  const server = createServer((request, response) => {
    void answer(request).then((body) =>
      response.writeHead(body === null ? 401 : 200, { 'content-type': 'application/json' }).end(JSON.stringify(body)),
    );
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  const github: TestGitHub = {
    issuer: `http://127.0.0.1:${address.port}`,
    user: { id: 0, emails: [] },
    signIn: (url) => {
      const asked = new URL(url).searchParams;
      const code = newId('request');
      grants.set(code, { user: github.user, challenge: asked.get('code_challenge') ?? '' });
      return `/console/sign-in/callback?${new URLSearchParams({ code, state: asked.get('state') ?? '' }).toString()}`;
    },
    stop: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return github;
}
