import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import addFormats from 'ajv-formats';
import { expect } from 'chai';
import { priceOf } from '../../../services/money/customer-prices.ts';
import { createImageRequestParser } from '../../../services/input/image-request.ts';
import { presentModel } from '../../../api/routes/models/present.ts';
import { createVideoRequestParser } from '../../../services/input/video-request.ts';
import { CatalogueError, loadCatalogue, parseCatalogue } from '../../../catalogue/load.ts';
import type { MediaModel } from '../../../catalogue/types.ts';
import { type JsonObject, objectOf } from '../../../domain/json.ts';
import { routesWith } from '../../../domain/media-route.ts';
import type { ParameterSchema } from '../../../domain/model-parameters.ts';
import { formatUsd } from '../../../domain/money.ts';
import { renderCost } from '../../../domain/render-cost.ts';
import { newId } from '../../../domain/ids.ts';
import type { RenderInputs } from '../../../domain/task.ts';
import { MEDIA_PROTOCOLS } from '../../../providers/media/protocols.ts';
import { renderRequestOf } from '../../../activities/media-task/render-request.ts';
import { PUBLISHED_SCHEMAS } from '../../fixtures/parameters/published.ts';
import { createRefusalReader } from '../../support/refusal.ts';

const FILE = join(import.meta.dirname, '../../fixtures/parameters/catalogue.yaml');
const catalogue = loadCatalogue(FILE);
const context = { isInputLink: (text: string): boolean => text.startsWith('https://') };
const parseVideo = createVideoRequestParser(catalogue, context);
const parseImage = createImageRequestParser(catalogue, context);
const LINK = 'https://files.example/1.png';

function modelOf(id: string): MediaModel {
  const model = catalogue.videoModels.get(id) ?? catalogue.imageModels.get(id);
  if (!model) throw new Error(`there is no ${id}`);
  return model;
}

const parse = (body: JsonObject) =>
  catalogue.videoModels.has(String(body['model'])) ? parseVideo(body) : parseImage(body);
const refusalOf = createRefusalReader((body) => parse(objectOf(body)));
const bodyFor = (id: string, fields: object = {}): JsonObject => ({
  model: id,
  prompt: 'A lighthouse',
  ...(modelOf(id).images.required && { images: [LINK] }),
  ...(id === 'flux-fill-dev' && { mask: LINK }),
  ...fields,
});

/** A value that the schema allows. */
function exampleOf(schema: ParameterSchema): unknown {
  switch (schema.type) {
    case 'string':
      return schema.format === 'uri' ? LINK : (schema.enum?.[0] ?? 'fog');
    case 'boolean':
      return true;
    case 'array':
      return [exampleOf(schema.items)];
    case 'object':
      return Object.fromEntries(Object.entries(schema.properties).map(([name, one]) => [name, exampleOf(one)]));
    default:
      return schema.minimum ?? 1;
  }
}

/** The fields of the request to the route's upstream. */
function sentFor(id: string, request: RenderInputs): JsonObject {
  const [route] = modelOf(id).routes;
  const task = { id: newId('task'), accountId: newId('account'), deadlineAt: new Date('2100-01-01') };
  const order = { ...task, request: { ...request, routes: [route] } };
  const adapter = MEDIA_PROTOCOLS[route.provider === 'fal' ? 'fal' : 'replicate'];
  const { body } = adapter.submission(renderRequestOf(order, route, { callbackUrl: () => null }));
  const document = body !== undefined && 'json' in body ? objectOf(body.json) : {};
  return route.provider === 'fal' ? document : objectOf(document['input']);
}

describe('the fields that only one model has', () => {
  const ajv = new Ajv();
  addFormats.default(ajv);

  for (const [id, schema] of Object.entries(PUBLISHED_SCHEMAS)) {
    it(`all reach the vendor of ${id}, in a body that the vendor's published schema allows`, () => {
      const { parameters, routes } = modelOf(id);
      const values = Object.fromEntries(
        Object.entries(parameters.properties).map(([name, one]) => [name, exampleOf(one)]),
      );
      const sent = sentFor(id, parse(bodyFor(id, values)).render);
      expect(ajv.validate(schema, sent), ajv.errorsText()).to.equal(true);
      for (const [name, value] of Object.entries(values)) {
        expect(sent[routes[0].parameters?.[name] ?? name], name).to.deep.equal(value);
      }
    });

    it(`the fields of one model are optional for ${id}, and its vendor receives their defaults`, () => {
      const { properties } = modelOf(id).parameters;
      const sent = sentFor(id, parse(bodyFor(id)).render);
      expect(ajv.validate(schema, sent), ajv.errorsText()).to.equal(true);
      for (const [name, { default: usual }] of Object.entries(properties)) {
        if (usual !== undefined) expect(sent[name], name).to.equal(usual);
      }
    });
  }

  for (const [what, id, fields, refusal] of [
    ['a truth value that is a text', 'veo3.1', { generate_audio: 'yes' }, '"generate_audio" must be true or false'],
    ['a broken number', 'veo3.1', { seed: 1.5 }, '"seed" is outside its supported range'],
    ['a number above the maximum', 'kling-2.1', { cfg_scale: 1.1 }, '"cfg_scale" is outside its supported range'],
    ['no value of a list', 'flux-dev', { megapixels: '4' }, '"megapixels" must be one of: [1 0.25]'],
    [
      'too long a text',
      'veo3.1',
      { negative_prompt: 'x'.repeat(10_001) },
      '"negative_prompt" has an unsupported length',
    ],
    [
      'NUL',
      'veo3.1',
      { negative_prompt: '\0' },
      '"negative_prompt" must not contain NUL characters or unpaired surrogates',
    ],
    ['no link', 'kling-2.1', { end_image: 'http://10.0.0.1/' }, '"end_image" must be a public HTTPS URL'],
    ['a required field left out', 'flux-fill-dev', { mask: undefined }, '"mask" is required'],
    ['a field of another model', 'flux-dev', { mask: LINK }, 'field "mask" is not supported by model flux-dev'],
    ['a field of no model', 'flux-dev', { __proto__x: 1 }, 'unknown field: __proto__x'],
  ] as const) {
    it(`a request with ${what} is refused`, () => {
      const body = Object.entries(bodyFor(id, fields)).filter(([, value]) => value !== undefined);
      expect(refusalOf(Object.fromEntries(body))).to.equal(refusal);
    });
  }

  it('change the price and the cost, also by their defaults', () => {
    const usdOf = (fields: object) => formatUsd(priceOf(parse(bodyFor('veo3.1', { duration: 4, ...fields })), null));
    expect(usdOf({})).to.equal('1.6');
    expect(usdOf({ generate_audio: true })).to.equal('1.6');
    expect(usdOf({ generate_audio: false })).to.equal('0.8');
    expect(usdOf({ generate_audio: true, resolution: '4k' })).to.equal('2.4');
    expect(formatUsd(priceOf(parse(bodyFor('flux-dev', { megapixels: '0.25' })), null))).to.equal('0.015');
    const [{ cost: written = null }] = modelOf('veo3.1').routes;
    const costOf = (fields: object) =>
      renderCost(parse(bodyFor('veo3.1', { duration: 4, ...fields })).render, { reported: null, written }) ?? 0n;
    expect(formatUsd(costOf({ generate_audio: false }))).to.equal('0.72');
    expect(formatUsd(costOf({}))).to.equal('1.44');
  });

  it('are listed with the model, with their effect on its price', () => {
    // contract 2.8:5 2.8:6
    const listed = Object(presentModel(modelOf('veo3.1'), catalogue));
    expect(listed.parameters.seed).to.deep.include({ type: 'integer' });
    expect(listed.prices.modifiers).to.deep.equal([{ when: { generate_audio: true }, addition: 0.2, factor: 1 }]);
  });

  it('declare which of them are links', () => {
    expect(parse(bodyFor('kling-2.1', { end_image: LINK })).render.parameterLinks).to.deep.equal([LINK]);
    expect(parse(bodyFor('kling-2.1')).render.parameterLinks).to.equal(undefined);
  });

  it('exclude routes whose upstreams do not have them, unless they have their default', () => {
    const { parameters } = modelOf('kling-2.1');
    const route = { model: 'm', order: 0, weight: 1 };
    const routes = [
      { ...route, provider: 'has-all' },
      { ...route, provider: 'has-no-scale', parameters: { cfg_scale: null } },
    ];
    const namesFor = (values: JsonObject) => routesWith(routes, values, parameters).map(({ provider }) => provider);
    expect(namesFor({})).to.deep.equal(['has-all', 'has-no-scale']);
    expect(namesFor({ cfg_scale: 0.5 })).to.deep.equal(['has-all', 'has-no-scale']);
    expect(namesFor({ cfg_scale: 0.7 })).to.deep.equal(['has-all']);
  });

  it('may be nested in the body of an upstream, and be lists and objects', () => {
    const yaml = readFileSync(FILE, 'utf8')
      .replace(
        'seed: { type: integer }\n          auto_fix',
        `camera: { type: object, properties: { kind: { type: string, enum: [pan] }, by: { type: number } }, required: [kind] }
          references: { type: array, maxItems: 2, items: { type: string, format: uri } }
          auto_fix`,
      )
      .replace(
        'fields: { image: null, duration',
        'parameters: { camera: control.camera }\n        fields: { image: null, duration',
      );
    const parseCamera = createVideoRequestParser(parseCatalogue(yaml, 'test.yaml'), context);
    const refusal = createRefusalReader(parseCamera);
    const body = { model: 'veo3.1', prompt: 'A lighthouse' };
    const { render, model } = parseCamera({ ...body, camera: { kind: 'pan', by: 2 }, references: [LINK] });
    expect(render.parameterLinks).to.deep.equal([LINK]);
    const [route] = model.routes;
    const task = { id: 'a', accountId: 'b', deadlineAt: new Date(), request: { ...render, routes: [route] } };
    const { params } = renderRequestOf(task, route, { callbackUrl: () => null });
    expect(params).to.deep.include({ control: { camera: { kind: 'pan', by: 2 } }, references: [LINK] });
    expect(refusal({ ...body, camera: { by: 2 } })).to.equal('"camera.kind" is required');
    expect(refusal({ ...body, camera: { kind: 'pan', of: 2 } })).to.equal('"camera.of" is unknown');
    expect(refusal({ ...body, camera: 5 })).to.equal('"camera" must be an object');
    expect(refusal({ ...body, references: ['x'] })).to.equal('"references[0]" must be a public HTTPS URL');
    expect(refusal({ ...body, references: Array(100_000).fill('x') })).to.match(/^"references" accepts at most 2/);
  });
});

describe('a catalogue with fields that only one model has', () => {
  const text = readFileSync(FILE, 'utf8');
  const faultOf = (from: string, to: string): string => {
    if (!text.includes(from)) throw new Error(`the catalogue has no ${from}`);
    try {
      parseCatalogue(text.replace(from, to), 'test.yaml');
    } catch (error) {
      if (error instanceof CatalogueError) return error.message;
      throw error;
    }
    return 'none';
  };

  for (const [fault, from, to, ...words] of [
    ['a name that all models have', 'auto_fix:', 'duration:', 'properties.duration', 'another name'],
    ['a name that nobody can write', 'auto_fix:', '"auto fix":', 'properties.auto fix', 'not allowed here'],
    ['an unknown type', 'auto_fix: { type: boolean }', 'auto_fix: { type: date }', 'auto_fix.type', 'one of'],
    [
      'a keyword of another type',
      'auto_fix: { type: boolean }',
      'auto_fix: { type: boolean, maximum: 2 }',
      'maximum',
      'not allowed',
    ],
    ['a list without items', 'auto_fix: { type: boolean }', 'auto_fix: { type: array }', 'items', 'required'],
    ['a default outside the bounds', 'default: 0.5', 'default: 2', 'cfg_scale.default', 'not a value'],
    [
      'a price by an unknown field',
      'when: { generate_audio: true }, usd',
      'when: { audio: true }, usd',
      'when.audio',
      'not a parameter',
    ],
    [
      'a price by an impossible value',
      'when: { generate_audio: true }, usd',
      'when: { generate_audio: 1 }, usd',
      'when.generate_audio',
      'not a value',
    ],
    [
      'a price that does not change',
      "when: { generate_audio: true }, usd: '0.20'",
      'when: { generate_audio: true }',
      'price_modifiers[0]',
      'at least one',
    ],
    ['a required field that is none', 'required: [mask]', 'required: [masks]', 'required[0]', 'did you mean "mask"'],
    [
      'a route with an unknown field',
      'end_image: tail_image_url',
      'last: tail_image_url',
      'parameters.last',
      'not a parameter',
    ],
    [
      'a field that no route passes on',
      'end_image: tail_image_url',
      'end_image: null',
      'properties.end_image',
      'no route',
    ],
  ] as const) {
    it(`a catalogue with ${fault} is refused`, () => {
      for (const part of words) expect(faultOf(from, to)).to.include(part);
    });
  }
});
