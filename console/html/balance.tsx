/** The balance of an account. */
import type { Account } from '../../db/queries/accounts.ts';
import { Headline, usd } from './components.tsx';
import { InOtherCurrency } from './other-currency.tsx';
import { useTexts } from './page-context.ts';

/** @param isUpdate whether it replaces the balance on the page */
export function Balance({ account, isUpdate = false }: { readonly account: Account; readonly isUpdate?: boolean }) {
  const { home } = useTexts();
  const { fundedAvailable, signupAvailable, fundedReserved, signupReserved } = account;
  return (
    <div id="balance" {...(isUpdate && { 'hx-swap-oob': 'true' })}>
      <Headline amount={fundedAvailable + signupAvailable} />
      <InOtherCurrency amount={fundedAvailable + signupAvailable} />
      <p class="soft">{home.held(usd(fundedReserved + signupReserved))}</p>
      {signupAvailable > 0n ? <p class="soft">{home.signup(usd(signupAvailable))}</p> : null}
    </div>
  );
}
