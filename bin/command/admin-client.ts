/** A client of the administration endpoints, for the `genway` command. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import Joi from 'joi';
import { request } from 'undici';
import type { CommandConfig } from '../../config.ts';
import { isObject } from '../../domain/json.ts';
import { OperatorError } from '../../domain/operator-error.ts';
import { type Json, type Fields } from './json.ts';
import { textOf } from './print.ts';

export interface AdminClient {
  /** @throws CommandError with the service's own message if it refuses */
  call(method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string, body?: object): Promise<Fields>;
  /** Returns the answer as text, in the requested media type. */
  text(path: string, accept: string): Promise<string>;
  /** Streams the answer, in the requested media type. */
  stream(path: string, accept: string): Promise<AsyncIterable<Uint8Array>>;
}

/** An error that is printed in one line and ends the command with exit code 1. */
export class CommandError extends OperatorError {
  override readonly name = 'CommandError';
}

interface Address {
  readonly baseUrl: string;
  readonly adminToken: string;
}

const demoSchema = Joi.object({ base_url: Joi.string().required(), admin_token: Joi.string().required() }).unknown();

/** Creates a client of the configured Genway, or of the running local stack if GENWAY_ADMIN_TOKEN is not set. */
export async function connectAdmin(config: CommandConfig): Promise<AdminClient> {
  const { baseUrl, adminToken } = await addressOf(config);
  const send = async (method: string, path: string, headers: Record<string, string>, body?: object) => {
    const response = await request(`${baseUrl}/admin/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json', ...headers },
      ...(body && { body: JSON.stringify(body) }),
    }).catch((error: Error) => {
      throw new CommandError(`${baseUrl} cannot be reached (${error.message}). Is Genway running?`);
    });
    if (response.statusCode < 400) return response.body;
    const text = await response.body.text();
    throw new CommandError(refusalIn(text) ?? `${baseUrl} answered ${response.statusCode} without giving a reason.`);
  };
  return {
    call: async (method, path, body) => parseObject(await (await send(method, path, {}, body)).text()),
    text: async (path, accept) => (await send('GET', path, { accept })).text(),
    stream: async (path, accept) => received(await send('GET', path, { accept })),
  };
}

async function* received(body: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  try {
    yield* body;
  } catch (error) {
    const cause = error instanceof Error ? error.message : String(error);
    throw new CommandError(`The answer was cut off (${cause}), so the output is incomplete. Run the command again.`);
  }
}

async function addressOf({ baseUrl, adminToken, home }: CommandConfig): Promise<Address> {
  if (adminToken !== undefined) return { baseUrl, adminToken };
  const demo = await readFile(join(home, 'demo.json'), 'utf8').catch(() => null);
  if (demo === null) {
    throw new CommandError(
      'No local stack is running here: start one with `npm start`, or set GENWAY_PUBLIC_URL and GENWAY_ADMIN_TOKEN.',
    );
  }
  const { value, error } = demoSchema.validate(parseJson(demo));
  if (error) throw new CommandError(`${join(home, 'demo.json')} was not written by a local stack: ${error.message}`);
  return { baseUrl: value.base_url, adminToken: value.admin_token };
}

function parseObject(text: string): Fields {
  const parsed = parseJson(text);
  if (isObject(parsed)) return parsed;
  throw new CommandError(
    'The answer does not come from the administration endpoints. Does GENWAY_PUBLIC_URL point to Genway?',
  );
}

/** @returns undefined if the text is not JSON */
function parseJson(text: string): Json | undefined {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function refusalIn(text: string): string | undefined {
  try {
    const { error } = parseObject(text);
    return isObject(error) ? `${textOf(error['message'])} (${textOf(error['code'])})` : undefined;
  } catch {
    return undefined;
  }
}
