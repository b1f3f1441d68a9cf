/** `genway secrets`: completes the replacement of secrets, directly in the database. */
import type { Command } from 'commander';
import type { SecretsConfig } from '../../config.ts';
import { createDatabase } from '../../db/database.ts';
import { checkSecrets, countKeysUnderOtherPeppers, recordSecrets } from '../../db/queries/secrets.ts';
import { reencrypt } from '../../db/reencrypt.ts';
import { createEncryption } from '../../db/encryption.ts';

const CONNECTIONS = 2;

/** @param load called when a command runs, so that `--help` needs no configuration */
export function addSecretsCommands(program: Command, load: () => SecretsConfig, print: (text: string) => void): void {
  program
    .command('secrets')
    .description('replace secrets; needs DATABASE_URL and both the old and the new secrets')
    .command('reencrypt')
    .description(
      're-encrypt everything with the first GENWAY_ENCRYPTION_KEY, and count the API keys that need another than the first GENWAY_KEY_PEPPER',
    )
    .action(async () => {
      const {
        database: { url },
        secrets: { encryptionKeys, keyPeppers },
      } = load();
      const secrets = { encryption: createEncryption(...encryptionKeys), keyPeppers };
      const database = createDatabase(url, CONNECTIONS);
      try {
        await checkSecrets(database, secrets);
        for await (const { table, rows, changed } of reencrypt(database, secrets.encryption)) {
          print(`${table}: ${rows} rows looked at, ${changed} encrypted anew`);
        }
        await recordSecrets(database, secrets);
        const keys = await countKeysUnderOtherPeppers(database, keyPeppers[0]);
        print('everything is encrypted with GENWAY_ENCRYPTION_KEY');
        print(`API keys that need another pepper than GENWAY_KEY_PEPPER until they are next used: ${keys}`);
      } finally {
        await database.destroy();
      }
    });
}
