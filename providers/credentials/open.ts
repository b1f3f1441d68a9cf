/** Opens the credentials of an upstream. */
import type { Credentials, CredentialsOptions } from './credentials.ts';
import type { Auth } from './settings.ts';

/** The vendor's library is loaded at the first request. */
export function openCredentials(auth: Auth, options: CredentialsOptions = {}): Credentials {
  let opened: Promise<Credentials> | null = null;
  const open = (): Promise<Credentials> => (opened ??= load(auth, options));
  return {
    headersFor: async (request) => (await open()).headersFor(request),
    refused: (date) => void opened?.then((credentials) => credentials.refused(date)),
  };
}

async function load(auth: Auth, options: CredentialsOptions): Promise<Credentials> {
  if ('google' in auth) return (await import('./google.ts')).openGoogle(auth.google, options);
  if ('aws' in auth) return (await import('./aws.ts')).openAws(auth.aws, options);
  return (await import('./azure.ts')).openAzure(auth.azure, options);
}
