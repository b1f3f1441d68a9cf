/** The operator's files: showing the version in force, and applying a new one. */
import { type ConfigurationRecord, listConfigurations } from '../../../db/queries/configurations.ts';
import { badRequest } from '../../../domain/errors.ts';
import { OperatorError } from '../../../domain/operator-error.ts';
import { dataOf } from '../../endpoint/answers.ts';
import { endpoint } from '../../endpoint/endpoint.ts';
import * as field from '../../../domain/resource/field.ts';
import { resource } from '../../../domain/resource/resource.ts';
import { arrayOf } from '../../../domain/json-schema.ts';
import type { ConfigurationState } from '../../services/configuration-control.ts';

const LATEST = 50;

const CONFIGURATION = resource<ConfigurationState>('Configuration', {
  object: field.constant('configuration'),
  process: field.text('process', 'The process that answers: its kind, host and process id'),
  catalogue_version: field.text('catalogueVersion', 'The version of the catalogue in force'),
  digest: field.text('digest', 'SHA-256 over both files, as they are in force'),
  since: field.isoTime('since', 'When the process took them up'),
  refusal: field.text.orNull('refusal', 'Why the files as they are now are not in force; null where they are'),
});

export const CONFIGURATION_RECORD = resource<ConfigurationRecord>('ConfigurationRecord', {
  created_at: field.isoTime('createdAt', 'When'),
  process: field.text('process', 'Which process: its kind, host and process id'),
  catalogue_version: field.text.orNull(
    'catalogueVersion',
    'The version of the catalogue; null where it could not be read',
  ),
  digest: field.text('digest', 'SHA-256 over both files'),
  refusal: field.text.orNull('refusal', 'Why it did not take them up; null where it did'),
});

export const getConfiguration = endpoint({
  id: 'getConfiguration',
  request: 'GET /admin/v1/configuration',
  access: 'admin-read',
  summary: 'See which version of the catalogue and of the upstreams is in force',
  answers: { 200: dataOf(CONFIGURATION.schema, 'What the process that answers goes by') },
  handle: (_call, { configuration }) => ({ data: CONFIGURATION.present(configuration.show()) }),
});

export const listConfigurationRecords = endpoint({
  id: 'listConfigurationRecords',
  request: 'GET /admin/v1/configuration/history',
  access: 'admin-read',
  summary: `List the latest ${LATEST} times that a process took up a version of the files or refused one, newest first`,
  answers: { 200: dataOf(arrayOf(CONFIGURATION_RECORD.schema), 'All processes') },
  handle: async (_call, { database }) => ({
    data: (await listConfigurations(database, LATEST)).map(CONFIGURATION_RECORD.present),
  }),
});

export const applyConfiguration = endpoint({
  id: 'applyConfiguration',
  request: 'POST /admin/v1/configuration/apply',
  access: 'admin',
  summary: 'Take up the files as they are now',
  description:
    'The process that answers does so at once, the others see by themselves within seconds that their files changed. What is ' +
    'wrong in the files is refused with all mistakes, and the version in force stays.',
  answers: { 200: dataOf(CONFIGURATION.schema, 'They are in force') },
  refusals: ['bad_request'],
  handle: async (_call, { configuration }) => {
    await configuration.apply().catch((error: unknown) => {
      throw error instanceof OperatorError ? badRequest(error.message) : error;
    });
    return { data: CONFIGURATION.present(configuration.show()) };
  },
});
