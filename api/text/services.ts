/** What serving text is made of. */
import type { Logger } from 'pino';
import type { Catalogue } from '../../catalogue/types.ts';
import type { Clock } from '../../db/database-clock.ts';
import type { TextUpstreams } from '../../providers/text/text-upstreams.ts';
import type { TextBilling } from '../../db/text-money/billing.ts';

export interface TextServices {
  readonly catalogue: Catalogue;
  readonly upstreams: TextUpstreams;
  readonly billing: TextBilling;
  /** Whether an account has anything left at all. */
  readonly hasCredit: (accountId: string) => Promise<boolean>;
  /** By which requests are dated. */
  readonly clock: Clock;
  readonly log: Logger;
  readonly settings: TextSettings;
}

export interface TextSettings {
  /** After this long a request that does not stream is cut off; null: never (contract 8). */
  readonly cutoffMs: number | null;
  /** A stream that is silent for this long is sent something that clients skip, where the format has such a thing. */
  readonly keepAliveMs: number;
  /** A client that takes nothing for this long is given up. */
  readonly stallMs: number;
  /** How long an answer is read to its end after its client left, for the usage that comes there. */
  readonly readOnMs: number;
}
