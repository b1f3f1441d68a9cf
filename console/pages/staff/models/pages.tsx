/** Models and prices in force, what the files would change about them, and what processes took up. */
import { orderModel } from '../../../../api/services/order-model.ts';
import type { ApiServices } from '../../../../api/services/services.ts';
import { listSoldModels } from '../../../../api/services/sold-models.ts';
import { listConfigurations } from '../../../../db/queries/configurations.ts';
import { badRequest, ServiceError } from '../../../../domain/errors.ts';
import { OperatorError } from '../../../../domain/operator-error.ts';
import { problemOf } from '../../../form-problem.ts';
import { ALL_STAFF, type Answer, OPERATORS, staffPage, type UserVisit } from '../../../page.ts';
import { authorshipOf } from '../reason.ts';
import { ConfigurationContent } from './configuration.tsx';
import { ModelContent, ModelTable } from './models.tsx';

const LATEST_RECORDS = 20;

export const staffModelPages = [
  staffPage({ method: 'get', path: '/staff/models', roles: ALL_STAFF, handle: showModels }),
  staffPage({
    method: 'get',
    path: '/staff/models/configuration',
    roles: ALL_STAFF,
    handle: (visit, services) => showConfiguration(visit, services),
  }),
  staffPage({
    method: 'post',
    path: '/staff/models/configuration',
    roles: OPERATORS,
    handle: async (visit, services) => {
      const problem = await problemOf(() => services.configuration.apply().catch(asBadRequest));
      if (problem) return showConfiguration(visit, services, problem);
      return { kind: 'redirect', path: '/staff/models/configuration' };
    },
  }),
  staffPage({
    method: 'get',
    path: '/staff/models/{model_id}',
    roles: ALL_STAFF,
    handle: async (visit, services) => showModel(visit, services),
  }),
  ...(['disable', 'enable'] as const).map((kind) =>
    staffPage({
      method: 'post',
      path: `/staff/models/{model_id}/${kind}`,
      roles: OPERATORS,
      handle: async (visit, services) => {
        const model = visit.params['model_id'] ?? '';
        const problem = await problemOf(async () => orderModel(services, { model, kind, ...authorshipOf(visit) }));
        if (problem) return showModel(visit, services, problem);
        return { kind: 'redirect', path: `/staff/models/${encodeURIComponent(model)}` };
      },
    }),
  ),
];

async function showModels({ texts }: UserVisit, services: ApiServices): Promise<Answer> {
  const models = listSoldModels(services);
  return {
    kind: 'page',
    title: texts.staffModels.title,
    current: 'models',
    content: <ModelTable models={models} state={services.configuration.show()} texts={texts} />,
  };
}

function showModel(visit: UserVisit, services: ApiServices, problem: ServiceError | null = null): Answer {
  const model = listSoldModels(services).find(({ id }) => id === visit.params['model_id']);
  if (!model) throw new ServiceError('not_found', 'There is no such model.');
  return {
    kind: 'page',
    title: model.id,
    current: 'models',
    status: problem?.status ?? 200,
    content: <ModelContent model={model} visit={visit} problem={problem?.message ?? null} />,
  };
}

async function showConfiguration(
  visit: UserVisit,
  { configuration, database }: ApiServices,
  problem: ServiceError | null = null,
): Promise<Answer> {
  const [preview, records] = await Promise.all([configuration.preview(), listConfigurations(database, LATEST_RECORDS)]);
  return {
    kind: 'page',
    title: visit.texts.staffModels.files,
    current: 'models',
    status: problem?.status ?? 200,
    content: (
      <ConfigurationContent
        state={configuration.show()}
        {...{ preview, records, visit }}
        problem={problem?.message ?? null}
      />
    ),
  };
}

function asBadRequest(error: unknown): never {
  throw error instanceof OperatorError ? badRequest(error.message) : error;
}
