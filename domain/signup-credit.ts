/** Decides whether a new account gets signup credit. */

/** Stand for the decision; those after the second one refuse the credit. */
export const SIGNUP_CREDIT_OUTCOMES = [
  'granted',
  /** Counts as granted, but waits for the first payment. */
  'awaits_payment',
  'disposable_address',
  /** Another account got the credit of the mailbox. */
  'address_used',
  'network_limit',
  'daily_limit',
] as const;
export type SignupCreditOutcome = (typeof SIGNUP_CREDIT_OUTCOMES)[number];

export interface SignupCreditLimits {
  readonly perNetworkPerDay: number;
  readonly perDay: number;
  readonly afterFirstPayment: boolean;
}

/** The facts about the person, the network and the day. */
export interface SignupCreditFacts {
  readonly isDisposable: boolean;
  /** Whether the mailbox got credit before, on any day. */
  readonly isAddressUsed: boolean;
  /** Grants of the day to the network of the person. */
  readonly grantsOfNetwork: number;
  /** Grants of the day to everybody. */
  readonly grantsOfDay: number;
}

export function decideSignupCredit(facts: SignupCreditFacts, limits: SignupCreditLimits): SignupCreditOutcome {
  if (facts.isDisposable) return 'disposable_address';
  if (facts.isAddressUsed) return 'address_used';
  if (facts.grantsOfNetwork >= limits.perNetworkPerDay) return 'network_limit';
  if (facts.grantsOfDay >= limits.perDay) return 'daily_limit';
  return limits.afterFirstPayment ? 'awaits_payment' : 'granted';
}
