/** The dependencies of serving text. */
import type { Logger } from 'pino';
import type { Catalogue } from '../../catalogue/types.ts';
import type { Clock } from '../../db/database-clock.ts';
import type { SearchService } from '../../providers/search/search-service.ts';
import type { TextUpstreams } from '../../providers/text/text-upstreams.ts';
import type { FindPrices } from '../money/customer-prices.ts';
import type { FindBudgets } from '../money/budgets.ts';
import type { ResponseStore } from './stored-responses.ts';
import type { TextBilling } from '../../db/text-money/billing.ts';

export interface TextServices {
  /** The current catalogue. It can change between calls. */
  readonly catalogue: Catalogue;
  readonly upstreams: TextUpstreams;
  /** Throws ServiceError `processing_unavailable` for a model that operators have disabled. */
  readonly assertEnabled: (model: string) => void;
  readonly findPrices: FindPrices;
  readonly findBudgets: FindBudgets;
  readonly billing: TextBilling;
  readonly responses: ResponseStore;
  /** The operator's service for searches of the web; null for none. */
  readonly search: SearchService | null;
  /** Whether an account has any credit left. */
  readonly hasCredit: (accountId: string) => Promise<boolean>;
  /** The clock for the dates of requests. */
  readonly clock: Clock;
  readonly log: Logger;
  readonly settings: TextSettings;
}

export interface TextSettings {
  /** A request that does not stream is cut off after this long; null for never (contract 8). */
  readonly cutoffMs: number | null;
  /** After this much silence, the client gets an event that it ignores, if the format has one. */
  readonly keepAliveMs: number;
  /** A client that accepts no data for this long is disconnected. */
  readonly stallMs: number;
  /** How long an answer is read without its client, to get the usage at its end. */
  readonly readOnMs: number;
}
