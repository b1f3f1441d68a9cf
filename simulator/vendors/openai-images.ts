/** OpenAI's images, after the types of `openai` 6 (`resources/images`), with the sizes of `gpt-image-2.x`. */
import type { ServerResponse } from 'node:http';
import { parseImageSize } from '../../domain/image-size.ts';
import type { JsonObject } from '../../domain/json.ts';
import type { Rendering } from '../jobs/submission.ts';
import { route } from '../router.ts';
import { type Form, type FormFile, readForm } from './form.ts';
import { openaiFault } from './openai-errors.ts';
import { bodyOf, invalid, onlyFields, type Renders, throwIfFailed, type Vendor } from './simulate-vendor.ts';

const FIELDS = ['model', 'prompt', 'n', 'size', 'quality', 'background', 'output_format', 'output_compression', 'user'];
const GENERATION_FIELDS = [...FIELDS, 'moderation'];
const EDIT_FIELDS = [...FIELDS, 'input_fidelity'];
/** OpenAI's own client uses the first for a single file, and the second for each of several. */
const INPUTS = ['image', 'image[]'];
const INPUT_TYPES: readonly string[] = ['image/png', 'image/webp', 'image/jpeg'];
const MAX_INPUTS = 16;
const MAX_INPUT_BYTES = 50 * 2 ** 20;
const MAX_PROMPT = 32_000;
const BACKGROUNDS: readonly string[] = ['auto', 'opaque', 'transparent'];
const TOKENS = { input: 50, output: 1_056 };

export const openaiImages: Vendor = {
  name: 'openai-images',
  answerFault: openaiFault,

  routes: (renders) => [
    route('POST', '/v1/images/generations', async (request, response) => {
      const body = bodyOf(request, GENERATION_FIELDS);
      await render(renders, body, response);
    }),
    route('POST', '/v1/images/edits', async (request, response) => {
      const { fields, files } = await readForm(request);
      onlyFields(fields, EDIT_FIELDS);
      onlyFields(files, [...INPUTS, 'mask']);
      await render(renders, { ...fields, images: inputsOf(files).length }, response);
    }),
  ],
};

/** @param sent with the number of its files as `images` */
async function render(renders: Renders, sent: JsonObject, response: ServerResponse): Promise<void> {
  const { model, prompt, size = 'auto', background = 'auto', output_format: format = 'png' } = sent;
  if (typeof model !== 'string' || model === '') throw invalid('model', 'you must provide a model parameter');
  if (typeof prompt !== 'string' || prompt === '' || prompt.length > MAX_PROMPT) {
    throw invalid('prompt', "Missing required parameter: 'prompt'.");
  }
  if (!BACKGROUNDS.includes(String(background))) throw invalid('background', `Invalid value: '${String(background)}'.`);
  const transparent = background === 'transparent';
  if (transparent && format === 'jpeg') throw invalid('output_format', 'Transparent background needs png or webp.');
  const taken = renders.accept({ prompt, model, rendering: renderingOf(String(size), transparent), sent });
  const files = await renders.filesOf(taken);
  throwIfFailed(renders, taken);
  const body = {
    created: Math.floor(Date.now() / 1000),
    background: transparent ? 'transparent' : 'opaque',
    output_format: 'png',
    quality: 'medium',
    size,
    data: files.map((file) => ({ b64_json: file.toString('base64') })),
    usage: {
      input_tokens: TOKENS.input,
      input_tokens_details: { text_tokens: TOKENS.input, image_tokens: 0 },
      output_tokens: TOKENS.output,
      total_tokens: TOKENS.input + TOKENS.output,
    },
  };
  renders.acknowledge(taken, response, { status: 200, body });
}

function renderingOf(text: string, transparent: boolean): Rendering {
  const size = text === 'auto' ? { width: 1024, height: 1024 } : parseImageSize(text);
  if (!size) throw invalid('size', `Invalid size '${text}'.`);
  return { kind: 'image', ...size, transparent };
}

/** @throws VendorFault */
function inputsOf(files: Form['files']): readonly FormFile[] {
  const inputs = INPUTS.flatMap((name) => files[name] ?? []);
  if (inputs.length === 0 || inputs.length > MAX_INPUTS) throw invalid('image', 'There must be 1 to 16 images.');
  const odd = inputs.find(({ mimeType, bytes }) => !INPUT_TYPES.includes(mimeType) || bytes.length > MAX_INPUT_BYTES);
  if (odd) throw invalid('image', `Invalid file '${odd.filename}': unsupported mimetype ('${odd.mimeType}').`);
  return inputs;
}
