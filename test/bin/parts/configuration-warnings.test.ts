import { expect } from 'chai';
import { pino } from 'pino';
import { warnOfConfiguration } from '../../../bin/parts/configuration-warnings.ts';
import { loadConfig } from '../../../config.ts';
import { REQUIRED_VARIABLES } from '../../support/configuration.ts';

describe('the start of a process', () => {
  function warningsOf(environment: Readonly<Record<string, string>>): readonly unknown[] {
    const variables: unknown[] = [];
    const log = pino({ level: 'warn' }, { write: (line) => void variables.push(JSON.parse(line).variable) });
    warnOfConfiguration(loadConfig({ ...REQUIRED_VARIABLES, ...environment }), log);
    return variables;
  }

  const S3 = {
    GENWAY_PUBLIC_URL: 'https://api.example.com',
    GENWAY_S3_BUCKET: 'results',
    GENWAY_S3_PUBLIC_URL: 'http://results.example.com',
  };
  for (const [what, environment, variables] of [
    ['a public URL of http', { GENWAY_PUBLIC_URL: 'http://api.example.com' }, ['GENWAY_PUBLIC_URL']],
    ['a public URL of https', { GENWAY_PUBLIC_URL: 'https://api.example.com' }, []],
    ['a bucket of http', S3, ['GENWAY_S3_PUBLIC_URL']],
    ['a public URL of this machine', { GENWAY_PUBLIC_URL: 'http://127.0.0.1:8080' }, []],
    ['a name that no variable has', { GENWAY_SECOND_APPROVAL: '1000' }, ['GENWAY_SECOND_APPROVAL']],
    ['a name that only tests have', { GENWAY_TEST_ALL: '1' }, []],
    ['a variable of another program', { GENWAY: '1', NODE_ENV: 'production' }, []],
  ] as const) {
    it(`warns of ${variables.length} variables with ${what}`, () => {
      expect(warningsOf(environment)).to.deep.equal(variables);
    });
  }
});
