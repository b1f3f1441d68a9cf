/** Models and prices in force, pending changes in the files, and the history of the configuration. */
import { overrideModel } from '../../../../api/services/override-model.ts';
import type { ApiServices } from '../../../../api/services/services.ts';
import { listSoldModels } from '../../../../api/services/sold-models.ts';
import { listConfigurations } from '../../../../db/queries/configurations.ts';
import { badRequest, ServiceError } from '../../../../domain/errors.ts';
import { OperatorError } from '../../../../domain/operator-error.ts';
import { carryOut } from '../../../form-problem.ts';
import { type PageResult, showPage, staff, type UserVisit } from '../../../page.ts';
import { authorshipOf } from '../reason.ts';
import { ConfigurationContent } from './configuration.tsx';
import { ModelContent, ModelTable } from './models.tsx';

const LATEST_RECORDS = 20;

export const staffModelPages = [
  staff.page('/staff/models', 'read', showModels),
  staff.page('/staff/models/configuration', 'read', (visit, services) => showConfiguration(visit, services)),
  staff.form('/staff/models/configuration', 'operate', async (visit, services) => {
    return carryOut(
      () => services.configuration.apply().catch(asBadRequest),
      '/staff/models/configuration',
      (problem) => showConfiguration(visit, services, problem),
    );
  }),
  staff.page('/staff/models/{model_id}', 'read', async (visit, services) => showModel(visit, services)),
  ...(['disable', 'enable'] as const).map((kind) =>
    staff.form(`/staff/models/{model_id}/${kind}`, 'operate', async (visit, services) => {
      const model = visit.params['model_id'] ?? '';
      return carryOut(
        async () => overrideModel(services, { model, kind, ...authorshipOf(visit) }),
        `/staff/models/${encodeURIComponent(model)}`,
        (problem) => showModel(visit, services, problem),
      );
    }),
  ),
];

async function showModels({ texts }: UserVisit, services: ApiServices): Promise<PageResult> {
  const models = listSoldModels(services);
  return showPage(
    'models',
    texts.staffModels.title,
    <ModelTable models={models} state={services.configuration.show()} />,
  );
}

function showModel(visit: UserVisit, services: ApiServices, problem: ServiceError | null = null): PageResult {
  const model = listSoldModels(services).find(({ id }) => id === visit.params['model_id']);
  if (!model) throw new ServiceError('not_found', 'There is no such model.');
  return showPage('models', model.id, <ModelContent model={model} visit={visit} />, problem);
}

async function showConfiguration(
  visit: UserVisit,
  { configuration, database }: ApiServices,
  problem: ServiceError | null = null,
): Promise<PageResult> {
  const [preview, records] = await Promise.all([configuration.preview(), listConfigurations(database, LATEST_RECORDS)]);
  return showPage(
    'models',
    visit.texts.staffModels.files,
    <ConfigurationContent state={configuration.show()} {...{ preview, records, visit }} />,
    problem,
  );
}

function asBadRequest(error: unknown): never {
  throw error instanceof OperatorError ? badRequest(error.message) : error;
}
