/**
 * Google's Gemini API (docs/vendors/google.md; `@google/genai` 2.32): Omni's videos are interactions to wait for,
 * Gemini's images come in the answer. Neither can be listed.
 */
import { imageTierOf } from '../../../domain/image-size.ts';
import { type JsonObject, listOf, objectOf } from '../../../domain/json.ts';
import type { VendorCost } from '../../../domain/media-route.ts';
import type { KindTraits, MediaAdapter, RenderRequest } from '../adapter.ts';
import { assertRecent, type CallbackFormat, headerOf, parseCallbackBody } from '../callbacks.ts';
import { keyHeader } from '../credentials.ts';
import { costIn, mergeParams } from '../json.ts';
import { isName, JobRefusedError, OutcomeUnknownError } from '../outcomes.ts';
import { ANY_RANGE, IMAGE_RATIOS, ratioFor } from '../range.ts';
import type { ResultFile } from '../result-file.ts';
import { RETIRED_GOOGLE_MODELS } from '../retired-models.ts';
import { verifyJsonWebToken } from '../signatures/json-web-token.ts';
import { jobVerdictFor } from '../vendor-codes.ts';
import { fileOf, googleRefusal, inlineInputs, safetyIn } from './google-answers.ts';
import { googleReasons } from './google-codes.ts';
import * as interactions from './google-interactions.ts';

const VERSION = 'v1beta';

const IMAGE: KindTraits = {
  answers: 'files',
  recovery: 'none',
  inputs: 'bytes',
  poll: { firstMs: 0, everyMs: 0 },
  range: { ...ANY_RANGE, aspectRatios: IMAGE_RATIOS, transparency: false, pixels: 'own' },
};

/** The version before each signature, such as `v1a,`, as in Standard Webhooks. */
const SIGNATURE_VERSION = /^v\d\w*,/;

/**
 * The token proves that Google sent the announcement. Google documents neither its audience nor whether it covers the
 * body, so the MAC in the address proves for which task the announcement is.
 */
const callbacks: CallbackFormat = {
  proof: 'address',
  keysUrl: 'https://generativelanguage.googleapis.com/.well-known/jwks.json',
  async read({ headers, rawBody }, { keys, nowMs }) {
    assertRecent(headerOf(headers, 'webhook-timestamp'), nowMs);
    await verifyJsonWebToken(headerOf(headers, 'webhook-signature').replace(SIGNATURE_VERSION, ''), keys, nowMs);
    const { id } = objectOf(objectOf(parseCallbackBody(rawBody))['data']);
    return { jobId: isName(id) ? id : null };
  },
};

export const google: MediaAdapter = {
  kinds: { image: IMAGE, video: interactions.OMNI_VIDEO },
  baseUrl: 'https://generativelanguage.googleapis.com',
  versionPath: VERSION,
  authorization: keyHeader('x-goog-api-key'),
  probe: { path: `${VERSION}/models`, query: { pageSize: 1_000 } },
  retiredModels: RETIRED_GOOGLE_MODELS,
  callbacks,

  modelsIn(document) {
    const { models, nextPageToken } = objectOf(document);
    const names = listOf(models).map((model) => String(objectOf(model)['name']).replace('models/', ''));
    return names.length === 0 || nextPageToken !== undefined ? null : names;
  },

  submission(request) {
    if (request.kind === 'video') return interactions.submissionOf(request);
    const body = mergeParams(imageOf(request), request.params);
    return { path: `${VERSION}/models/${encodeURIComponent(request.model)}:generateContent`, body: { json: body } };
  },

  accepted: (answer, { kind }) =>
    kind === 'video' ? { jobId: interactions.jobIn(answer) } : imagesOf(objectOf(answer.document)),
  refusal: googleRefusal,
  status: interactions.stateOfInteraction,
  cancel: interactions.cancelInteraction,
};

function imageOf(request: RenderRequest): JsonObject {
  const { prompt, images = [], width = 1024, height = 1024 } = request;
  const tier = imageTierOf({ width, height });
  // The smallest size is the default, and the only one of some models.
  const imageConfig = {
    aspectRatio: ratioFor({ width, height }, IMAGE_RATIOS),
    ...(tier !== '1K' && { imageSize: tier }),
  };
  return {
    contents: [
      {
        role: 'user',
        parts: [{ text: prompt }, ...inlineInputs(images, request).map((inlineData) => ({ inlineData }))],
      },
    ],
    generationConfig: { responseModalities: ['IMAGE'], imageConfig },
  };
}

/** @throws SubmissionError if the answer says why it has no image; OutcomeUnknownError if it has no candidates */
function imagesOf(answer: JsonObject): { readonly files: readonly ResultFile[]; readonly cost?: VendorCost } {
  const candidates = listOf(answer['candidates']).map(objectOf);
  const parts = candidates.flatMap(({ content }) => listOf(objectOf(content)['parts']).map(objectOf));
  // Thoughts may contain drafts of the image.
  const files = parts
    .filter(({ thought }) => thought !== true)
    .flatMap(({ inlineData }) => {
      const { data, mimeType } = objectOf(inlineData);
      return fileOf(data, mimeType);
    });
  const charged = costOf(answer);
  if (files.length > 0) return { files, ...charged };
  const reason = objectOf(answer['promptFeedback'])['blockReason'] ?? candidates[0]?.['finishReason'];
  if (typeof reason === 'string') {
    const code = jobVerdictFor(googleReasons.meaningOf(reason) ?? safetyIn(reason));
    throw new JobRefusedError(code, undefined, charged.cost);
  }
  if (!Array.isArray(answer['candidates'])) throw new OutcomeUnknownError('the upstream answered without candidates');
  return { files, ...charged };
}

/** Counts the tokens of the image if they are reported separately: tokens of accompanying text cost much less. */
function costOf({ usageMetadata }: JsonObject): { readonly cost?: VendorCost } {
  const { candidatesTokensDetails: details, candidatesTokenCount: all } = objectOf(usageMetadata);
  const image = listOf(details)
    .map(objectOf)
    .find(({ modality }) => modality === 'IMAGE');
  return costIn(image?.['tokenCount'] ?? all, 'output_tokens');
}
