/** Opens the credentials of an upstream. */
import { openAws } from './aws.ts';
import { openAzure } from './azure.ts';
import type { Credentials, CredentialsOptions } from './credentials.ts';
import { openGoogle } from './google.ts';
import type { Auth } from './settings.ts';

/** The vendors' libraries are loaded at the first request. */
export function openCredentials(auth: Auth, options: CredentialsOptions = {}): Credentials {
  if ('google' in auth) return openGoogle(auth.google, options);
  return 'aws' in auth ? openAws(auth.aws, options) : openAzure(auth.azure, options);
}
