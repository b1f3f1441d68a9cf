/** The providers with which people sign in: those of the operator's file about the site. */
import type { ProviderSettings } from '../../catalogue/sign-in-providers.ts';
import { createGitHubProvider } from './github-provider.ts';
import type { IdentityProvider } from './identity-provider.ts';
import { createOpenIdProvider } from './openid-provider.ts';

const CREATE = { openid: createOpenIdProvider, github: createGitHubProvider } as const;

/**
 * Returns a function that returns the current providers. A provider keeps its metadata until its settings change.
 *
 * @param settings returns the current settings
 * @param publicUrl the address of the api process; register `{publicUrl}/console/sign-in/callback` at each provider
 */
export function createSignInProviders(
  settings: () => readonly ProviderSettings[],
  publicUrl: string,
): () => readonly IdentityProvider[] {
  const redirectUri = `${publicUrl}/console/sign-in/callback`;
  const made = new WeakMap<ProviderSettings, IdentityProvider>();
  return () =>
    settings().map((one) => {
      const provider = made.get(one) ?? CREATE[one.kind]({ ...one, redirectUri });
      made.set(one, provider);
      return provider;
    });
}
