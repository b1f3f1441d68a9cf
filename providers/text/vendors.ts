/** The vendors whose text models catalogue/vendors.yaml sells, with their addresses. Any other vendor is an upstream as well. */
export const TEXT_VENDORS: Readonly<Record<string, string>> = {
  openai: 'https://api.openai.com',
  anthropic: 'https://api.anthropic.com',
  google: 'https://generativelanguage.googleapis.com',
};
