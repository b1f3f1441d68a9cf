/** The commands of `genway` that need the configuration of this machine, not only the admin API. */
import type { Command } from 'commander';
import {
  type Environment,
  loadDatabaseConfig,
  loadFilesConfig,
  loadRecoveryConfig,
  loadReplayConfig,
  loadSecretsConfig,
} from '../../config.ts';
import type { AdminClient } from './admin-client.ts';
import { addConfigCommands } from './config.ts';
import { addPartitionCommands } from './partitions.ts';
import { addRecoverCommand } from './recover.ts';
import { addReplayCommand } from './replay.ts';
import { addSecretsCommands } from './secrets.ts';

interface Surroundings {
  readonly connect: () => Promise<AdminClient>;
  readonly print: (text: string) => void;
  readonly endWith: (exitCode: number) => void;
  /** By default that of this process. */
  readonly environment?: Environment;
}

/** Each command reads its configuration when it runs. */
export function addLocalCommands(program: Command, { connect, print, endWith, environment }: Surroundings): void {
  const isJson = (): boolean => program.opts<{ json?: boolean }>().json === true;
  addConfigCommands(program, { load: () => loadFilesConfig(environment), connect }, { print, isJson, endWith });
  addPartitionCommands(program, () => loadDatabaseConfig(environment), print);
  addRecoverCommand(program, () => loadRecoveryConfig(environment), print);
  addSecretsCommands(program, () => loadSecretsConfig(environment), print);
  addReplayCommand(program, () => loadReplayConfig(environment), print);
}
