/** The shapes of the operator’s files. */
import { type ConfigurationRecord } from '../../db/queries/configurations.ts';
import * as field from '../../domain/resource/field.ts';
import { resource } from '../../domain/resource/resource.ts';
import type { ConfigurationState } from '../operations/configuration-control.ts';

export const CONFIGURATION = resource<ConfigurationState>('ConfigurationState', {
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
