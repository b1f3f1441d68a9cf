/** A user of the console with a browser: keeps its cookies, and sends the forms that pages show. */
import { request } from 'undici';
import { codeAt } from '../../services/people/second-factor.ts';
import { SESSION_COOKIE } from '../../services/people/sessions.ts';
import { mountConsole } from '../../console/serve.ts';
import type { AdminRole, MemberRole } from '../../domain/roles.ts';
import { startTestApp, type TestApp, type TestAppOptions } from './app.ts';
import type { CallerSettings, TestCaller } from './factories.ts';
import { newId } from '../../domain/ids.ts';
import { useMade, useStarted } from './started.ts';

export const PASSWORD = 'a kite over the sea';

/** The entries of a form for a key without limits. */
export const UNLIMITED = { unlimited: 'on', all_models: 'on' } as const;

export interface Shown {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

/** The text to copy on a page, such as a secret or a link; empty if there is none. */
export function copyableIn({ text }: Shown): string {
  return /data-copy="([^"]+)"/.exec(text)?.[1] ?? '';
}

/** The path of the link to copy on a page; empty if there is none. */
export function linkIn(shown: Shown): string {
  const link = copyableIn(shown);
  return link === '' ? '' : new URL(link).pathname;
}

/** The api application with the console. */
export function startTestConsole(options: Omit<TestAppOptions, 'mountPages'> = {}): Promise<TestApp> {
  return startTestApp({ ...options, mountPages: mountConsole });
}

/** The application with the console for the tests of the current suite. */
export function useTestConsole(options?: Omit<TestAppOptions, 'mountPages'>): TestApp {
  return useStarted(() => startTestConsole(options));
}

/** A customer's account with a key, for the tests of the current suite. */
export function useAccount(app: TestApp, settings?: CallerSettings): TestCaller {
  return useMade(() => app.createAccount(settings));
}

/** A person who was invited and has signed in, for the tests of the current suite. */
export function useVisitor(app: TestApp, person: () => Person): Visitor {
  const visitor = new Visitor(app);
  before(async () => visitor.enter(await invite(app, person())));
  return visitor;
}

interface Person {
  readonly email: string;
  readonly staff_role?: AdminRole;
  readonly account_id?: string;
  readonly member_role?: MemberRole;
}

/** Invites a person through the administration. @returns the path of the invitation */
export async function invite(
  { baseUrl, adminToken }: Pick<TestApp, 'baseUrl' | 'adminToken'>,
  person: Person,
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

/** Creates a link for a new password through the administration. @returns the path of the link */
export async function newPasswordLink(
  { baseUrl, adminToken, database }: Pick<TestApp, 'baseUrl' | 'adminToken' | 'database'>,
  email: string,
): Promise<string> {
  const { id } = await database('users').where({ email }).first<{ id: string }>('id');
  const headers = { authorization: `Bearer ${adminToken}` };
  const response = await fetch(`${baseUrl}/admin/v1/users/${id}/links`, { method: 'POST', headers });
  const link: unknown = Object(Object(await response.json()).data).link;
  return new URL(String(link)).pathname;
}

export interface FormFile {
  /** The name of the form field. */
  readonly name: string;
  readonly content: string | Buffer<ArrayBuffer>;
}

/** The hidden inputs of a form that shows stored fields. */
const SHOWN_FIELDS =
  /<form method="post" action="([^"]+)"[^>]*>(?:<input type="hidden"[^>]*>)*<input type="hidden" name="shown" value="([^"]*)"/g;

export class Visitor {
  readonly #app: Pick<TestApp, 'baseUrl'>;
  readonly #cookies = new Map<string, string>();
  readonly #marks = new Map<string, string>();
  #formToken = '';

  constructor(app: Pick<TestApp, 'baseUrl'>) {
    this.#app = app;
  }

  /** A visitor who has followed an invitation, which signs in. */
  static async invited(app: Pick<TestApp, 'baseUrl' | 'adminToken'>, person: Person): Promise<Visitor> {
    const visitor = new Visitor(app);
    await visitor.enter(await invite(app, person));
    return visitor;
  }

  /** A member of an account, as {@link invited}. */
  static member(app: Pick<TestApp, 'baseUrl' | 'adminToken'>, accountId: string, role: MemberRole): Promise<Visitor> {
    const email = `${role}-${accountId}@example.com`;
    return Visitor.invited(app, { email, account_id: accountId, member_role: role });
  }

  /** Chooses a password by an invitation. @param path that of the invitation */
  async enter(path: string): Promise<void> {
    await this.send(path, { password: PASSWORD, repeated: PASSWORD });
  }

  get cookie(): string {
    return Array.from(this.#cookies, ([name, value]) => `${name}=${value}`).join('; ');
  }

  async get(path: string, headers: Record<string, string> = {}): Promise<Shown> {
    return this.#ask('GET', path, headers);
  }

  /**
   * Sends a form with the token of the session, an id of its own and the marks of the stored fields that the visitor saw
   * last, unless others are given. Where the answer redirects to the created object, such as a new key, shows that page.
   */
  async send(path: string, fields: Record<string, string> = {}, headers: Record<string, string> = {}): Promise<Shown> {
    await this.#readToken();
    const form_id = newId('form');
    const shown = this.#marks.get(path) ?? '';
    const form = new URLSearchParams({ form_token: this.#formToken, form_id, shown, ...fields });
    const usual = {
      'content-type': 'application/x-www-form-urlencoded',
      'x-form-token': this.#formToken,
      'x-form-id': form_id,
    };
    const answer = await this.#ask('POST', path, { ...usual, ...headers }, form.toString());
    const next = String(answer.headers['location']);
    return next.startsWith('/console/outcomes/') ? this.#ask('GET', next, {}) : answer;
  }

  /** Opens a page, and sends its form. @param form the path of the form, if it is not that of the page */
  async edit(page: string, fields: Record<string, string>, form = page): Promise<Shown> {
    await this.get(page);
    return this.send(form, fields);
  }

  async setLanguage(language: string): Promise<void> {
    await this.send('/console/profile/language', { language });
  }

  /** Sends a form with a file, as {@link send} sends others. */
  async sendFile(path: string, fields: Record<string, string>, { name, content }: FormFile): Promise<Shown> {
    await this.#readToken();
    const form = new FormData();
    const tokens = { form_token: this.#formToken, form_id: newId('form') };
    for (const [field, value] of Object.entries({ ...tokens, ...fields })) form.append(field, value);
    form.append(name, new Blob([content], { type: 'text/csv' }), 'file.csv');
    const sent = new Response(form);
    const body = Buffer.from(await sent.arrayBuffer());
    return this.#ask('POST', path, { 'content-type': sent.headers.get('content-type') ?? '' }, body);
  }

  /** Reads the token of a new session: from the sign-in while a second factor is pending, otherwise from the profile. */
  async #readToken(): Promise<void> {
    if (this.#formToken !== '' || !this.#cookies.has(SESSION_COOKIE)) return;
    const { status } = await this.get('/console/sign-in');
    if (status === 303) await this.get('/console/profile');
  }

  async #ask(
    method: 'GET' | 'POST',
    path: string,
    headers: Record<string, string>,
    body?: string | Buffer,
  ): Promise<Shown> {
    const response = await request(this.#app.baseUrl + path, {
      method,
      headers: { ...(this.cookie && { cookie: this.cookie }), ...headers },
      ...(body === undefined ? {} : { body }),
    });
    const text = await response.body.text();
    for (const set of [response.headers['set-cookie'] ?? []].flat()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(set) ?? [];
      if (set.includes('Max-Age=0')) this.#cookies.delete(name);
      else this.#cookies.set(name, value);
      if (name === SESSION_COOKIE) this.#formToken = '';
    }
    this.#formToken = /name="form_token" value="([^"]+)"/.exec(text)?.[1] ?? this.#formToken;
    for (const [, action = '', marks = ''] of text.matchAll(SHOWN_FIELDS)) this.#marks.set(action, marks);
    return { status: response.statusCode, headers: response.headers, text };
  }
}

/** A second factor that was just turned on. */
export interface TestSecondFactor {
  readonly secret: string;
  /** The step of the code that turned it on; the next one may be used. */
  readonly step: number;
  readonly recoveryCodes: readonly string[];
}

/** Turns a second factor on, as users do on their profile. */
export async function addSecondFactor(visitor: Visitor): Promise<TestSecondFactor> {
  const { text } = await visitor.get('/console/profile');
  const secret = /<code[^>]*>([A-Z2-7]{32})<\/code>/.exec(text)?.[1] ?? '';
  const offer = /name="offer" value="([^"]+)"/.exec(text)?.[1] ?? '';
  const step = Math.floor(Date.now() / 30_000);
  const code = codeAt(secret, step);
  const turnedOn = await visitor.send('/console/profile/second-factor', { offer, code, current: PASSWORD });
  const recoveryCodes = Array.from(
    turnedOn.text.matchAll(/<li><code>([A-Z2-7-]{19})<\/code>/g),
    ([, found = '']) => found,
  );
  return { secret, step, recoveryCodes };
}
