/** The operator's files: showing the version in force, and applying a new one. */
import { listConfigurations } from '../../../db/queries/configurations.ts';
import { badRequest } from '../../../domain/errors.ts';
import { OperatorError } from '../../../domain/operator-error.ts';
import { dataOf } from '../../endpoint/answers.ts';
import { endpoint, endpoints } from '../../endpoint/endpoint.ts';
import { arrayOf } from '../../../domain/json-schema.ts';
import { CONFIGURATION, CONFIGURATION_RECORD } from '../../../services/resources/configuration.ts';

const LATEST = 50;

export const configurationEndpoints = endpoints('Administration', {
  getConfiguration: endpoint({
    request: 'GET /admin/v1/configuration',
    access: 'admin-read',
    summary: 'Show the current version of the catalogue and of the upstreams',
    answers: { 200: dataOf(CONFIGURATION.schema, 'The version that the answering process uses') },
    handle: (_call, { operations: { configuration } }) => ({ data: CONFIGURATION.present(configuration.show()) }),
  }),
  listConfigurationRecords: endpoint({
    request: 'GET /admin/v1/configuration/history',
    access: 'admin-read',
    summary: `List the latest ${LATEST} versions that processes applied or refused, newest first`,
    answers: { 200: dataOf(arrayOf(CONFIGURATION_RECORD.schema), 'The records of all processes') },
    handle: async (_call, { database }) => ({
      data: (await listConfigurations(database, LATEST)).map(CONFIGURATION_RECORD.present),
    }),
  }),
  applyConfiguration: endpoint({
    request: 'POST /admin/v1/configuration/apply',
    access: 'admin',
    summary: 'Apply the files on disk',
    description:
      'The answering process applies the files at once, all other processes within seconds. If a file has mistakes, the call is refused with all ' +
      'of them, and the current version stays in effect.',
    answers: { 200: dataOf(CONFIGURATION.schema, 'The applied version') },
    refusals: ['bad_request'],
    handle: async (_call, { operations: { configuration } }) => {
      await configuration.apply().catch((error: unknown) => {
        throw error instanceof OperatorError ? badRequest(error.message) : error;
      });
      return { data: CONFIGURATION.present(configuration.show()) };
    },
  }),
});
