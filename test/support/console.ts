/** Somebody with a browser who uses the console: keeps its cookie, and sends the forms that pages show. */
import { request } from 'undici';
import { mountConsole } from '../../console/serve.ts';
import type { AdminRole } from '../../domain/admin-role.ts';
import type { MemberRole } from '../../domain/member-role.ts';
import { startTestApp, type TestApp, type TestAppOptions } from './app.ts';

export const PASSWORD = 'a kite over the sea';

export interface Shown {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

/** The api application with the console. */
export function startTestConsole(options: Omit<TestAppOptions, 'mountPages'> = {}): Promise<TestApp> {
  return startTestApp({ ...options, mountPages: mountConsole });
}

/** Sends what the administration sends, to invite somebody. @returns the path of the invitation */
export async function invite(
  { baseUrl, adminToken }: Pick<TestApp, 'baseUrl' | 'adminToken'>,
  person: {
    readonly email: string;
    readonly staff_role?: AdminRole;
    readonly account_id?: string;
    readonly member_role?: MemberRole;
  },
): Promise<string> {
  const response = await fetch(`${baseUrl}/admin/v1/users`, {
    method: 'POST',
    headers: { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'Somebody', ...person }),
  });
  const body: unknown = await response.json();
  const link: unknown = Object(Object(body).data).link;
  if (typeof link !== 'string') throw new Error(`no invitation: ${JSON.stringify(body)}`);
  return new URL(link).pathname;
}

export class Visitor {
  readonly #baseUrl: string;
  #cookie = '';
  #formToken = '';

  constructor({ baseUrl }: Pick<TestApp, 'baseUrl'>) {
    this.#baseUrl = baseUrl;
  }

  /** Follows an invitation, and is signed in then. */
  static async invited(app: TestApp, person: Parameters<typeof invite>[1]): Promise<Visitor> {
    const visitor = new Visitor(app);
    await visitor.send(await invite(app, person), { password: PASSWORD, repeated: PASSWORD });
    return visitor;
  }

  get cookie(): string {
    return this.#cookie;
  }

  async get(path: string, headers: Record<string, string> = {}): Promise<Shown> {
    return this.#ask('GET', path, headers);
  }

  /** Sends a form with the token of the page that was shown last, unless another is given. */
  async send(path: string, fields: Record<string, string> = {}, headers: Record<string, string> = {}): Promise<Shown> {
    const form = new URLSearchParams({ form_token: this.#formToken, ...fields });
    const usual = { 'content-type': 'application/x-www-form-urlencoded', 'x-form-token': this.#formToken };
    return this.#ask('POST', path, { ...usual, ...headers }, form.toString());
  }

  async #ask(method: 'GET' | 'POST', path: string, headers: Record<string, string>, body?: string): Promise<Shown> {
    const response = await request(this.#baseUrl + path, {
      method,
      headers: { ...(this.#cookie && { cookie: this.#cookie }), ...headers },
      ...(body === undefined ? {} : { body }),
    });
    const text = await response.body.text();
    const [set] = [response.headers['set-cookie'] ?? []].flat();
    if (set !== undefined) this.#cookie = set.split(';')[0] ?? '';
    this.#formToken = /name="form_token" value="([^"]+)"/.exec(text)?.[1] ?? this.#formToken;
    return { status: response.statusCode, headers: response.headers, text };
  }
}
