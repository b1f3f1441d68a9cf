/** The text service, which runs in the api, text and worker processes. */
import type { HttpProcess, HttpDependencies } from './http-process.ts';
import { createTextBilling, type TextBillingService } from '../../db/text-money/create-billing.ts';
import { observeUpstreams } from '../../services/text/observe-upstreams.ts';
import { vendorOf } from '../../services/operations/media-circuits.ts';
import { startUpstreamControl, type UpstreamControl } from '../../services/operations/upstream-control.ts';
import { openSearch } from '../../providers/search/open-search.ts';
import { createResponseStore } from '../../services/text/stored-responses.ts';
import { createTextService, type TextService } from '../../services/text/text-service.ts';
import type { Config } from '../../config.ts';
import { type CallRecorder, createCallRecorder } from '../../db/call-recorder.ts';
import { watchOpenCircuits } from '../../telemetry/upstream-gauge.ts';
import { openTextUpstreams } from './providers.ts';

export interface Text {
  readonly service: TextService;
  readonly upstreams: UpstreamControl;
  readonly calls: CallRecorder;
  /**
   * Registers the process and its prices.
   *
   * @throws RateCardChangedError if prices changed without a new catalogue version
   */
  ready(): Promise<void>;
  /** Checks text's own connection pool with a round trip. */
  ping(): Promise<unknown>;
  /** Waits for requests in progress, records their costs, and closes all connections. */
  close(): Promise<void>;
}

const KEEP_ALIVE_MS = 15_000;
const STALL_MS = 60_000;
/**
 * How long Genway reads an answer on whose client has disconnected, to learn the usage to charge. Longer than the longest
 * answer of the catalogue takes (1,000,000 tokens) at 20 tokens a second: otherwise, clients that disconnect early would
 * not pay for slow answers.
 */
export const READ_ON_MS = 50_000_000;

/** The parts of a process that text needs. */
export interface TextParts {
  readonly files: Pick<HttpProcess['files'], 'current' | 'onChange'>;
  readonly dependencies: Pick<
    HttpDependencies,
    'database' | 'clock' | 'catalogue' | 'models' | 'encryption' | 'log' | 'metrics' | 'tracing'
  >;
}

/** @param cutoffMs the time limit of requests without streaming; null for none */
export function openText(
  config: Config,
  { files, dependencies }: TextParts,
  cutoffMs: number | null,
  billing: TextBillingService = openBilling(config, dependencies),
): Text {
  const { database, clock, catalogue, models, encryption, log, metrics, tracing } = dependencies;
  const calls = createCallRecorder(database, log);
  const observer = observeUpstreams({ log, metrics, tracing, calls });
  const upstreams = openTextUpstreams(files.current().upstreams, observer);
  files.onChange(({ upstreams: { text } }) => upstreams.replace(text));
  const control = startUpstreamControl({
    database,
    catalogue,
    upstreams,
    calls,
    clock,
    media: () => files.current().upstreams.media.map(vendorOf),
    log,
  });
  watchOpenCircuits(metrics.registry, () => restsOf(control));
  const responses = createResponseStore({ database, encryption, log });
  const service = createTextService({
    database,
    catalogue,
    upstreams,
    assertEnabled: (model) => models.assertEnabled(model),
    billing,
    responses,
    search: config.search ? openSearch(config.search) : null,
    encryption,
    clock,
    log,
    settings: { cutoffMs, keepAliveMs: KEEP_ALIVE_MS, stallMs: STALL_MS, readOnMs: READ_ON_MS },
  });
  return {
    service,
    upstreams: control,
    calls,
    ready: () => billing.ready(),
    ping: () => billing.ping(),
    close: async () => {
      control.stop();
      await service.idle();
      await responses.stop();
      await billing.close();
      await upstreams.close();
      await calls.stop();
    },
  };
}

function restsOf(control: UpstreamControl): { upstream: string; model: string; cause: string }[] {
  return control
    .listText()
    .flatMap(({ name: upstream, model, cause }) => (cause === null ? [] : [{ upstream, model, cause }]));
}

function openBilling(
  config: Config,
  { database, catalogue, log, metrics }: TextParts['dependencies'],
): TextBillingService {
  return createTextBilling({ database, databaseUrl: config.database.url, catalogue: catalogue(), log, metrics });
}
