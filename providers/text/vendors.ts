/** The addresses of the vendors whose text models catalogue/vendors.yaml sells. Operators can add any other vendor. */
export const TEXT_VENDORS: Readonly<Record<string, string>> = {
  openai: 'https://api.openai.com',
  anthropic: 'https://api.anthropic.com',
  google: 'https://generativelanguage.googleapis.com',
};
