/** Upstreams of text and media: their health, and overrides that take an upstream out of service. */
import { overrideUpstream } from '../../../../api/services/override-upstream.ts';
import type { ApiServices } from '../../../../api/services/services.ts';
import type { ServiceError } from '../../../../domain/errors.ts';
import { carryOut, FormError } from '../../../form-problem.ts';
import { type PageResult, showPage, staff, type UserVisit } from '../../../page.ts';
import { authorshipOf } from '../reason.ts';
import { UpstreamList, UpstreamTable } from './list.tsx';

const MINUTE_SECONDS = 60;

const MAX_MINUTES = 43_200;

export const staffUpstreamPages = [
  staff.page('/staff/upstreams', 'read', async (visit, services) => showUpstreams(visit, services)),
  staff.page('/staff/upstreams/health', 'read', async (_visit, { upstreams }) => ({
    kind: 'part',
    content: <UpstreamTable routes={await upstreams.list()} />,
  })),
  staff.form('/staff/upstreams/rest', 'operate', (visit, services) => order(visit, services, () => readSeconds(visit))),
  staff.form('/staff/upstreams/resume', 'operate', (visit, services) => order(visit, services, () => null)),
];

async function showUpstreams(
  visit: UserVisit,
  { upstreams }: ApiServices,
  problem: ServiceError | null = null,
): Promise<PageResult> {
  return showPage(
    'upstreams',
    visit.texts.staffUpstreams.title,
    <UpstreamList routes={await upstreams.list()} visit={visit} />,
    problem,
  );
}

async function order(visit: UserVisit, services: ApiServices, secondsOf: () => number | null): Promise<PageResult> {
  const upstream = visit.form.text('upstream');
  return carryOut(
    async () => overrideUpstream(services, { upstream, restSeconds: secondsOf(), ...authorshipOf(visit) }),
    '/staff/upstreams',
    (problem) => showUpstreams(visit, services, problem),
  );
}

function readSeconds({ form, texts }: UserVisit): number {
  const minutes = form.text('minutes');
  const count = /^\d{1,5}$/.test(minutes) ? Number(minutes) : 0;
  if (count < 1 || count > MAX_MINUTES) {
    throw new FormError(texts.staffUpstreams.minutesFrom(1, MAX_MINUTES), { field: 'minutes' });
  }
  return count * MINUTE_SECONDS;
}
