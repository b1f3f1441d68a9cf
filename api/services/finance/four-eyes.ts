/** Above an amount, money is moved by hand by two people: docs/decisions/2026-11-22-two-people-correct-large-amounts.md. */
import { ServiceError } from '../../../domain/errors.ts';
import { formatUsd, type PicoUsd } from '../../../domain/money.ts';

export interface FourEyes {
  /** Above this amount a second person must approve; null if nobody ever has to. */
  readonly fourEyesAbove: PicoUsd | null;
  readonly publicUrl: string;
}

/** @param amount given, or taken if it is negative */
export function takesTwo(amount: PicoUsd, { fourEyesAbove }: FourEyes): boolean {
  return fourEyesAbove !== null && (amount < 0n ? -amount : amount) > fourEyesAbove;
}

/** @throws ServiceError `forbidden` for an amount that takes two people, and says where they meet */
export function assertTakesOne(amount: PicoUsd, fourEyes: FourEyes): void {
  if (!takesTwo(amount, fourEyes)) return;
  throw new ServiceError(
    'forbidden',
    `By hand, more than ${formatUsd(fourEyes.fourEyesAbove ?? 0n)} USD takes two people: ask for it at ` +
      `${fourEyes.publicUrl}/console/staff/corrections, where a second person approves it.`,
  );
}
