/** The operator's files: which version of them is in force, and taking up a new one. */
import { type ConfigurationRecord, listConfigurations } from '../../../db/queries/configurations.ts';
import { badRequest } from '../../../domain/errors.ts';
import { nullable } from '../../../domain/json-schema.ts';
import { OperatorError } from '../../../domain/operator-error.ts';
import { dataOf } from '../../endpoint/answers.ts';
import { endpoint } from '../../endpoint/endpoint.ts';
import { arrayOf, exactly, isoTime, namedObject, text } from '../../openapi/json-schema.ts';
import type { ConfigurationState } from '../../services/configuration-control.ts';

const LATEST = 50;

const ConfigurationSchema = namedObject<ReturnType<typeof presentState>>('Configuration', {
  object: exactly('configuration'),
  process: text('The process that answers: its kind, host and process id'),
  catalogue_version: text('The version of the catalogue in force'),
  digest: text('SHA-256 over both files, as they are in force'),
  since: isoTime('When the process took them up'),
  refusal: nullable(text('Why the files as they are now are not in force; null where they are')),
});

const ConfigurationRecordSchema = namedObject<ReturnType<typeof presentRecord>>('ConfigurationRecord', {
  created_at: isoTime('When'),
  process: text('Which process: its kind, host and process id'),
  catalogue_version: nullable(text('The version of the catalogue; null where it could not be read')),
  digest: text('SHA-256 over both files'),
  refusal: nullable(text('Why it did not take them up; null where it did')),
});

export const getConfiguration = endpoint({
  id: 'getConfiguration',
  tag: 'Administration',
  method: 'get',
  path: '/admin/v1/configuration',
  access: 'admin-read',
  summary: 'See which version of the catalogue and of the upstreams is in force',
  answers: { 200: dataOf(ConfigurationSchema, 'What the process that answers goes by') },
  handle: (_call, { configuration }) => ({ data: presentState(configuration.show()) }),
});

export const listConfigurationRecords = endpoint({
  id: 'listConfigurationRecords',
  tag: 'Administration',
  method: 'get',
  path: '/admin/v1/configuration/history',
  access: 'admin-read',
  summary: `List the latest ${LATEST} times that a process took up a version of the files or refused one, newest first`,
  answers: { 200: dataOf(arrayOf(ConfigurationRecordSchema), 'All processes') },
  handle: async (_call, { database }) => ({ data: (await listConfigurations(database, LATEST)).map(presentRecord) }),
});

export const applyConfiguration = endpoint({
  id: 'applyConfiguration',
  tag: 'Administration',
  method: 'post',
  path: '/admin/v1/configuration/apply',
  access: 'admin',
  summary: 'Take up the files as they are now',
  description:
    'The process that answers does so at once, the others see by themselves within seconds that their files changed. What is ' +
    'wrong in the files is refused with all mistakes, and the version in force stays.',
  answers: { 200: dataOf(ConfigurationSchema, 'They are in force') },
  refusals: ['bad_request'],
  handle: async (_call, { configuration }) => {
    await configuration.apply().catch((error: unknown) => {
      throw error instanceof OperatorError ? badRequest(error.message) : error;
    });
    return { data: presentState(configuration.show()) };
  },
});

function presentState({ process, catalogueVersion, digest, since, refusal }: ConfigurationState) {
  return {
    object: 'configuration',
    process,
    catalogue_version: catalogueVersion,
    digest,
    since: since.toISOString(),
    refusal,
  };
}

function presentRecord({ process, catalogueVersion, digest, refusal, createdAt }: ConfigurationRecord) {
  return { created_at: createdAt.toISOString(), process, catalogue_version: catalogueVersion, digest, refusal };
}
