/**
 * How the file of upstreams reaches the vendors whose text models catalogue/vendors.yaml sells. Operators can add any other
 * vendor. Each entry gets the function that writes a variable of the vendor by the end of its name.
 */
export const TEXT_VENDORS: Readonly<Record<string, (variable: (word: string) => string) => object>> = {
  openai: withKeyAt('https://api.openai.com'),
  anthropic: withKeyAt('https://api.anthropic.com'),
  google: withKeyAt('https://generativelanguage.googleapis.com'),
  vertex: (variable) => ({
    platform: 'vertex',
    project: variable('PROJECT'),
    auth: { google: { credentials_file: variable('CREDENTIALS_FILE') } },
  }),
  bedrock: (variable) => ({
    platform: 'bedrock',
    region: 'us-east-1',
    auth: { aws: { access_key_id: variable('ACCESS_KEY_ID'), secret_access_key: variable('SECRET_ACCESS_KEY') } },
  }),
  azure: (variable) => ({ platform: 'azure', base_url: variable('URL'), api_key: variable('API_KEY') }),
};

function withKeyAt(base_url: string) {
  return (variable: (word: string) => string): object => ({ base_url, api_key: variable('API_KEY') });
}
