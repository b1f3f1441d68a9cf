/** Models that vendors have shut down, for `genway config check --online`, as of their pages on 2026-11-23. */

/** https://ai.google.dev/gemini-api/docs/deprecations */
export const RETIRED_GOOGLE_MODELS: Readonly<Record<string, string>> = {
  'gemini-2.5-flash-image': '2026-10-02',
  'gemini-2.5-flash-image-preview': '2026-01-15',
  'gemini-3-pro-image-preview': '2026-06-25',
  'gemini-3.1-flash-image-preview': '2026-06-25',
  'gemini-omni-flash-preview': '2026-09-30',
  'veo-3.1-fast-generate-preview': '2026-10-22',
  'veo-3.1-generate-preview': '2026-10-22',
  'veo-3.1-lite-generate-preview': '2026-10-22',
};

/** https://docs.cloud.google.com/vertex-ai/generative-ai/docs/image/set-output-resolution */
export const RETIRED_VERTEX_MODELS: Readonly<Record<string, string>> = {
  'imagen-3.0-generate-002': '2026-06-30',
  'imagen-4.0-fast-generate-001': '2026-06-30',
  'imagen-4.0-generate-001': '2026-06-30',
  'imagen-4.0-ultra-generate-001': '2026-06-30',
};

/** https://developers.openai.com/api/docs/deprecations */
export const RETIRED_OPENAI_MODELS: Readonly<Record<string, string>> = {
  'dall-e-2': '2026-05-12',
  'dall-e-3': '2026-05-12',
  'gpt-image-1': '2026-10-23',
};
