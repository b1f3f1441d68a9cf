/** A provider of OpenID Connect on this machine, and a browser that signs in there with its forms. */
import type { Server } from 'node:http';
import { once } from 'node:events';
import { Provider } from 'oidc-provider';
import { findFreePort } from '../../bin/stack/ports.ts';

/** A person whom the provider knows; the key is the login, and the subject. */
export interface KnownPerson {
  readonly email?: string;
  readonly email_verified?: boolean | undefined;
  /** The claim that Microsoft Entra has in place of `email_verified`. */
  readonly xms_edov?: boolean | string | number;
}

export interface TestProvider {
  readonly issuer: string;
  readonly people: Map<string, KnownPerson>;
  /** Signs in at the address that Genway redirects to. @returns the path and query of the redirect back */
  signIn(url: string, login: string): Promise<string>;
  stop(): Promise<void>;
}

export const CLIENT = {
  name: 'Example',
  kind: 'openid',
  clientId: 'genway',
  clientSecret: 'the-secret-of-the-client',
  asksSecondFactor: false,
} as const;
/** Nothing listens there: tests follow the redirect themselves. */
export const REDIRECT_URI = 'http://127.0.0.1/console/sign-in/callback';

/** @param given the port; any by default */
export async function startProvider(given?: number): Promise<TestProvider> {
  const port = given ?? (await findFreePort());
  const issuer = `http://127.0.0.1:${port}`;
  const people = new Map<string, KnownPerson>();
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: CLIENT.clientId,
        client_secret: CLIENT.clientSecret,
        redirect_uris: [REDIRECT_URI],
        post_logout_redirect_uris: ['http://127.0.0.1/console/sign-in'],
        token_endpoint_auth_method: 'client_secret_post',
      },
    ],
    claims: { openid: ['sub'], email: ['email', 'email_verified', 'xms_edov'] },
    pkce: { required: () => true },
    cookies: { keys: ['a key of the provider'] },
    findAccount: (_context, sub) => ({ accountId: sub, claims: () => ({ sub, ...people.get(sub) }) }),
  });
  const server: Server = provider.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return {
    issuer,
    people,
    signIn: (url, login) => new Browser(issuer).signIn(url, login),
    stop: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

class Browser {
  readonly #issuer: string;
  readonly #cookies = new Map<string, string>();

  constructor(issuer: string) {
    this.#issuer = issuer;
  }

  async signIn(url: string, login: string): Promise<string> {
    let response = await this.#send(url);
    for (let step = 0; step < 12; step++) {
      const location = response.headers.get('location');
      if (location?.startsWith(REDIRECT_URI)) return location.slice('http://127.0.0.1'.length);
      if (location !== null) {
        response = await this.#send(new URL(location, this.#issuer).href);
        continue;
      }
      const page = await response.text();
      const action = /<form[^>]* action="([^"]+)"/.exec(page)?.[1];
      const prompt = /name="prompt" value="(\w+)"/.exec(page)?.[1];
      if (action === undefined || prompt === undefined) throw new Error(`the provider shows no form: ${page}`);
      response = await this.#send(action, new URLSearchParams({ prompt, login, password: 'any' }));
    }
    throw new Error('the provider does not lead back');
  }

  async #send(url: string, body?: URLSearchParams): Promise<Response> {
    const cookie = Array.from(this.#cookies, ([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(url, {
      redirect: 'manual',
      headers: { cookie },
      ...(body && { method: 'POST', body }),
    });
    for (const set of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(set) ?? [];
      this.#cookies.set(name, value);
    }
    return response;
  }
}
