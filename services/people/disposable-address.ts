/** Addresses of services that give everybody a mailbox for some minutes. */
import { disposableEmailBlocklist } from 'disposable-email-domains-js';
import type { DisposableAddresses } from '../../catalogue/signup.ts';
import { domainOf, isDomainIn } from '../../domain/normal-address.ts';

let listed: ReadonlySet<string> | null = null;

/** Whether the list or the operator names the domain of the address, or a parent of it. */
export function isDisposable(email: string, { domains, except }: DisposableAddresses): boolean {
  const domain = domainOf(email);
  if (isDomainIn(domain, domains)) return true;
  if (isDomainIn(domain, except)) return false;
  // The list has 9,000 domains; a process that registers nobody never reads it.
  listed ??= new Set(disposableEmailBlocklist());
  return isDomainIn(domain, listed);
}
