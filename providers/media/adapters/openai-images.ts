/**
 * OpenAI's images (docs/vendors/openai-images.md; `openai` 6, `resources/images`), also offered by other gateways. The
 * answer contains the files, and the vendor keeps no copy: without the answer, the image is lost.
 */
import { type JsonObject, listOf, objectOf } from '../../../domain/json.ts';
import type { VendorCost } from '../../../domain/media-route.ts';
import type { KindTraits, MediaAdapter, RenderRequest } from '../adapter.ts';
import { bearer } from '../credentials.ts';
import { RETIRED_OPENAI_MODELS } from '../retired-models.ts';
import { filePart, partsFor } from '../fields.ts';
import { costIn, mergeParams } from '../json.ts';
import { openaiRefusal, openaiRefusalInSuccess } from '../openai-errors.ts';
import { OutcomeUnknownError } from '../outcomes.ts';
import { ANY_RANGE } from '../range.ts';
import { bytesInDataUrl, type ResultFile } from '../result-file.ts';

const TRAITS: KindTraits = {
  answers: 'files',
  recovery: 'none',
  inputs: 'bytes',
  poll: { firstMs: 0, everyMs: 0 },
  range: ANY_RANGE,
};

/** Fields that only one of the two calls accepts; a route's `params` apply to both. */
const ONLY_FOR_GENERATIONS: readonly string[] = ['moderation'];
const ONLY_FOR_EDITS: readonly string[] = ['input_fidelity'];

export const openaiImages: MediaAdapter = {
  kinds: { image: TRAITS },
  baseUrl: 'https://api.openai.com',
  versionPath: 'v1',
  authorization: bearer,
  probe: { path: 'v1/models' },
  retiredModels: RETIRED_OPENAI_MODELS,

  modelsIn(document) {
    const names = listOf(objectOf(document)['data']).map((model) => String(objectOf(model)['id']));
    return names.length === 0 ? null : names;
  },

  submission(request) {
    const { images = [], files } = request;
    if (images.length === 0) {
      return { path: 'v1/images/generations', body: { json: without(fieldsOf(request), ONLY_FOR_EDITS) } };
    }
    const parts = partsFor(without(fieldsOf(request), ONLY_FOR_GENERATIONS), request);
    const inputs = images.flatMap((link) => {
      const file = files.get(link);
      return file ? [filePart('image[]', file)] : [];
    });
    return { path: 'v1/images/edits', body: { form: [...parts, ...inputs] } };
  },

  accepted(answer) {
    const document = objectOf(answer.document);
    const { data } = document;
    if (!Array.isArray(data)) {
      throw openaiRefusalInSuccess(answer) ?? new OutcomeUnknownError('the upstream answered without a list of images');
    }
    return { files: data.flatMap((image) => fileOf(objectOf(image))), ...costOf(document) };
  },

  refusal: openaiRefusal,
};

/** Never includes `response_format`: these models refuse the field, and always answer with the bytes. */
function fieldsOf(request: RenderRequest): JsonObject {
  const { model, prompt, width, height, background, accountId, params } = request;
  const fields = {
    model,
    prompt,
    n: 1,
    size: width === undefined || height === undefined ? 'auto' : `${width}x${height}`,
    background: background ?? 'auto',
    user: accountId,
  };
  // The contract promises a PNG for a transparent image, whatever format the route prefers.
  return { ...mergeParams(fields, params), ...(background === 'transparent' && { output_format: 'png' }) };
}

function without(fields: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name)));
}

/** Other gateways may answer with links, and with data URLs in both fields. */
function fileOf({ b64_json: base64, url }: JsonObject): readonly ResultFile[] {
  if (typeof base64 === 'string') {
    return [{ bytes: bytesInDataUrl(base64) ?? Buffer.from(base64, 'base64'), mimeType: null }];
  }
  return typeof url === 'string' ? [{ url, mimeType: null }] : [];
}

/** Counts the tokens of the image if they are reported separately: text and inputs have other prices. */
function costOf({ usage }: JsonObject): { readonly cost?: VendorCost } {
  const { output_tokens_details: details, output_tokens: all } = objectOf(usage);
  return costIn(objectOf(details)['image_tokens'] ?? all, 'output_tokens');
}
