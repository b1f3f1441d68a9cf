/** The operator's files: showing the version in force, and applying a new one. */
import { type ConfigurationRecord, listConfigurations } from '../../../db/queries/configurations.ts';
import { badRequest } from '../../../domain/errors.ts';
import { OperatorError } from '../../../domain/operator-error.ts';
import { dataOf } from '../../endpoint/answers.ts';
import { endpoint, endpoints } from '../../endpoint/endpoint.ts';
import * as field from '../../../domain/resource/field.ts';
import { resource } from '../../../domain/resource/resource.ts';
import { arrayOf } from '../../../domain/json-schema.ts';
import type { ConfigurationState } from '../../../services/operations/configuration-control.ts';

const LATEST = 50;

const CONFIGURATION = resource<ConfigurationState>('ConfigurationState', {
  object: field.constant('configuration'),
  process: field.text('process', 'The answering process: its kind, host and process id'),
  catalogue_version: field.text('catalogueVersion', 'The current version of the catalogue'),
  digest: field.text('digest', 'SHA-256 over the current versions of both files'),
  since: field.isoTime('since', 'When the process applied this version'),
  refusal: field.text.orNull('refusal', 'The reason why the process refuses the files. Null if it applied them'),
});

export const CONFIGURATION_RECORD = resource<ConfigurationRecord>('ConfigurationRecord', {
  created_at: field.isoTime('createdAt', 'When the process read the files'),
  process: field.text('process', 'The process: its kind, host and process id'),
  catalogue_version: field.text.orNull('catalogueVersion', 'The version of the catalogue. Null if unreadable'),
  digest: field.text('digest', 'SHA-256 over both files'),
  refusal: field.text.orNull('refusal', 'The reason why the process refused the files. Null if it applied them'),
});

export const configurationEndpoints = endpoints('Administration', {
  getConfiguration: endpoint({
    request: 'GET /admin/v1/configuration',
    access: 'admin-read',
    summary: 'Show the current version of the catalogue and of the upstreams',
    answers: { 200: dataOf(CONFIGURATION.schema, 'The version that the answering process uses') },
    handle: (_call, { configuration }) => ({ data: CONFIGURATION.present(configuration.show()) }),
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
    handle: async (_call, { configuration }) => {
      await configuration.apply().catch((error: unknown) => {
        throw error instanceof OperatorError ? badRequest(error.message) : error;
      });
      return { data: CONFIGURATION.present(configuration.show()) };
    },
  }),
});
