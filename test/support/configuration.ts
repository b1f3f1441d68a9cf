/** The variables without a default, with values that pass. */
export const REQUIRED_VARIABLES = {
  DATABASE_URL: 'postgres://genway:secret@127.0.0.1:5433/genway',
  GENWAY_ADMIN_TOKEN: 'an administration token',
  GENWAY_KEY_PEPPER: 'a pepper of thirty-two characters or more',
  GENWAY_ENCRYPTION_KEY: 'ab'.repeat(32),
};
