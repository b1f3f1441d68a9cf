/** Google's Gemini API (docs/vendors/google.md): Omni's interactions, whose files need the key and are elsewhere, and Gemini's images. */
import { generateKeyPairSync, type KeyPairKeyObjectResult, sign } from 'node:crypto';
import { isObject, type JsonObject } from '../../domain/json.ts';
import type { Rendering } from '../jobs/submission.ts';
import { route, sendJson } from '../router.ts';
import { interactionIdOf, interactionRoutes } from './google-interactions.ts';
import {
  bodyOf,
  type Fault,
  invalid,
  onlyFields,
  throwIfFailed,
  type Vendor,
  type VendorAnswer,
  answerFor,
  type FaultAnswers,
  messageWithField,
} from './simulate-vendor.ts';

const IMAGE_FIELDS = ['contents', 'generationConfig', 'safetySettings', 'systemInstruction', 'tools'];
/** Width and height of each ratio at 1K; larger sizes are multiples. */
const SIZES: Readonly<Record<string, readonly [number, number]>> = {
  '1:1': [1024, 1024],
  '2:3': [832, 1248],
  '3:2': [1248, 832],
  '3:4': [864, 1184],
  '4:3': [1184, 864],
  '4:5': [896, 1152],
  '5:4': [1152, 896],
  '9:16': [768, 1344],
  '16:9': [1344, 768],
  '21:9': [1536, 672],
};
const SCALES: Readonly<Record<string, number>> = { '1K': 1, '2K': 2, '4K': 4 };
const TOKENS = 1_120;
const TOKEN_SECONDS = 3_600;
const KEY_ID = 'key-of-the-simulator';

export const google: Vendor = {
  name: 'google',
  isAuthorized({ headers }, apiKey) {
    const key = headers['x-goog-api-key'];
    return typeof key === 'string' && (apiKey === undefined || key === apiKey);
  },
  answerFault: googleFault,

  routes: (renders) => [
    route('GET', '/v1beta/models', (_request, response) => sendJson(response, 200, { models: [] })),
    ...interactionRoutes(renders),
    route('GET', '/v1beta/files/{id}:download', (request, response) => {
      const [link = ''] = renders.linksOf(renders.get(request.parameters['id'] ?? ''), request);
      response.writeHead(302, { location: link }).end();
    }),
    route('POST', '/v1beta/models/{model}:generateContent', async (request, response) => {
      const body = bodyOf(request, IMAGE_FIELDS);
      const { model = '' } = request.parameters;
      const parts = partsOf(body);
      const prompt = textIn(parts.flatMap(({ text }) => (typeof text === 'string' ? [text] : [])).join(' '));
      const images = parts.filter(({ inlineData }) => isObject(inlineData)).length;
      const config = imageConfigOf(body);
      const render = renders.accept({
        prompt,
        model,
        rendering: pictureOf(config),
        sent: { model, images, ...config },
      });
      const files = await renders.filesOf(render);
      if (renders.failureOf(render) === 'content_policy_violation' && renders.stateOf(render) === 'failed') {
        return sendJson(response, 200, { candidates: [{ finishReason: 'IMAGE_SAFETY', index: 0 }] });
      }
      throwIfFailed(renders, render);
      const inline = files.map((file) => ({ inlineData: { mimeType: 'image/png', data: file.toString('base64') } }));
      const answer = {
        candidates: [{ content: { role: 'model', parts: inline }, finishReason: 'STOP', index: 0 }],
        usageMetadata: { promptTokenCount: 10, candidatesTokenCount: TOKENS, totalTokenCount: TOKENS + 10 },
        modelVersion: model,
      };
      renders.acknowledge(render, response, { status: 200, body: answer });
    }),
  ],

  publicRoutes: () => [
    route('GET', '/jwks.json', (_request, response) => {
      const key = keyPair().publicKey.export({ format: 'jwk' });
      sendJson(response, 200, { keys: [{ ...key, kid: KEY_ID, alg: 'RS256', use: 'sig' }] });
    }),
  ],

  announcement(render) {
    const nowSeconds = Math.floor(Date.now() / 1000);
    return {
      headers: {
        'content-type': 'application/json',
        'webhook-id': render.id,
        'webhook-timestamp': String(nowSeconds),
        'webhook-signature': tokenOf({ iat: nowSeconds, exp: nowSeconds + TOKEN_SECONDS }),
      },
      body: JSON.stringify({ type: 'interaction.completed', data: { id: interactionIdOf(render) } }),
    };
  },
};

let keys: KeyPairKeyObjectResult | undefined;

/** Generated on first use, because that takes a while. */
function keyPair(): KeyPairKeyObjectResult {
  return (keys ??= generateKeyPairSync('rsa', { modulusLength: 2048 }));
}

/** A JSON Web Token, signed with RS256. */
function tokenOf(claims: JsonObject): string {
  const parts = [{ alg: 'RS256', kid: KEY_ID, typ: 'JWT' }, claims];
  const signed = parts.map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.');
  return `${signed}.${sign('RSA-SHA256', Buffer.from(signed), keyPair().privateKey).toString('base64url')}`;
}

/** @throws VendorFault */
function textIn(value: unknown): string {
  if (typeof value === 'string' && value.trim() !== '') return value;
  throw invalid('prompt', 'A prompt is required.');
}

function partsOf({ contents }: JsonObject): readonly JsonObject[] {
  const all = Array.isArray(contents) ? contents.filter(isObject) : [];
  const parts = all.flatMap((content) => (Array.isArray(content['parts']) ? content['parts'].filter(isObject) : []));
  if (parts.length === 0) throw invalid('contents', 'contents is not specified');
  for (const part of parts) onlyFields(part, ['text', 'inlineData']);
  return parts;
}

function imageConfigOf({ generationConfig }: JsonObject): JsonObject {
  if (!isObject(generationConfig)) return {};
  onlyFields(generationConfig, ['responseModalities', 'imageConfig', 'temperature', 'candidateCount']);
  const { imageConfig = {} } = generationConfig;
  if (!isObject(imageConfig)) throw invalid('imageConfig', 'imageConfig must be an object.');
  onlyFields(imageConfig, ['aspectRatio', 'imageSize']);
  return imageConfig;
}

function pictureOf({ aspectRatio = '1:1', imageSize = '1K' }: JsonObject): Rendering {
  const size = SIZES[String(aspectRatio)];
  const scale = SCALES[String(imageSize)];
  if (!size || scale === undefined) throw invalid('imageConfig', 'aspectRatio or imageSize is not supported.');
  return { kind: 'image', width: size[0] * scale, height: size[1] * scale, transparent: false };
}

const FAULTS: FaultAnswers<readonly [code: number, status: string, message: string]> = {
  unauthorized: [400, 'INVALID_ARGUMENT', 'API key not valid. Please pass a valid API key.'],
  broke: [400, 'FAILED_PRECONDITION', 'Billing is not enabled for this project.'],
  missing: [404, 'NOT_FOUND', 'Requested entity was not found.'],
  error: [500, 'INTERNAL', 'An internal error has occurred.'],
  invalid: [400, 'INVALID_ARGUMENT', 'A field is not valid.'],
  limited: [429, 'RESOURCE_EXHAUSTED', 'You exceeded your current quota.'],
  moderated: [400, 'INVALID_ARGUMENT', 'The prompt could not be submitted: it violates our usage guidelines.'],
  bad_request: [400, 'INVALID_ARGUMENT', 'Refused as asked.'],
  unavailable: [503, 'UNAVAILABLE', 'The model is overloaded.'],
};

function googleFault(fault: Fault): VendorAnswer {
  const [code, status, usual] = answerFor(fault, FAULTS);
  const message = messageWithField(fault, usual);
  const details = detailsOf(fault);
  return { status: code, body: { error: { code, message, status, ...(details && { details: [details] }) } } };
}

function detailsOf(fault: Fault): JsonObject | null {
  if (fault.kind === 'unauthorized') {
    return { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'API_KEY_INVALID' };
  }
  if (fault.kind !== 'limited') return null;
  return { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: `${fault.retryAfterSeconds}s` };
}
