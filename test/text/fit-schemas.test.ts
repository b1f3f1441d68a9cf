/** Schemas as the vendors of each format accept them, and what answers report that a schema lost. */
import { expect } from 'chai';
import { type JsonObject, listOf, objectOf } from '../../domain/json.ts';
import { type WireFormatName, WIRE_FORMAT_NAMES } from '../../domain/wire-format-name.ts';
import type { OutputFormat, Tool } from '../../text/canonical.ts';
import { planConversion } from '../../text/convert.ts';
import { FORMATS } from '../../text/formats.ts';
import { Meter } from '../../text/meter.ts';
import { textRequest } from './support.ts';

const PROPERTIES = { path: { type: 'string' }, id: { type: 'integer' } };
const EITHER = [{ required: ['path'] }, { required: ['id'] }];
const CLOSED = { type: 'object', properties: PROPERTIES, required: ['path', 'id'], additionalProperties: false };
const MAP = { type: 'object', additionalProperties: { type: 'number' } };

function planned(upstream: WireFormatName, fields: { tools?: readonly Tool[]; outputFormat?: OutputFormat }) {
  // No client has the format of its upstream, because requests are passed on then.
  const client = FORMATS[upstream === 'chat-completions' ? 'messages' : 'chat-completions'];
  const options = { model: 'upstream', apiKey: 'secret', compatibility: 'full' } as const;
  const { upstreamRequest, lostFields } = planConversion(
    client,
    FORMATS[upstream],
    textRequest(fields),
    options,
    new Meter(),
  );
  return { body: upstreamRequest.body, lost: lostFields };
}

const TOOL_OF: Readonly<Record<WireFormatName, (body: JsonObject) => JsonObject>> = {
  'chat-completions': ({ tools }) => objectOf(objectOf(listOf(tools)[0])['function']),
  responses: ({ tools }) => objectOf(listOf(tools)[0]),
  messages: ({ tools }) => objectOf(listOf(tools)[0]),
  'generate-content': ({ tools }) => objectOf(listOf(objectOf(listOf(tools)[0])['functionDeclarations'])[0]),
};

function sentTool(upstream: WireFormatName, parameters: JsonObject | undefined, strict?: boolean) {
  const { body, lost } = planned(upstream, { tools: [{ name: 'look', parameters, strict }] });
  const tool = TOOL_OF[upstream](body);
  const schema = tool['parameters'] ?? tool['input_schema'] ?? tool['parametersJsonSchema'];
  return { schema, strict: tool['strict'] ?? false, lost };
}

/** Schemas of older drafts and of OpenAPI, and the same in the current draft. */
const OLDER: Readonly<Record<string, readonly [older: JsonObject, current: JsonObject]>> = {
  'a list without items': [{ type: 'array' }, { type: 'array', items: {} }],
  'a list or nothing': [{ type: ['array', 'null'] }, { type: ['array', 'null'], items: {} }],
  'a tuple': [
    { type: 'array', items: [{ type: 'array' }, { type: 'string' }], additionalItems: false },
    { type: 'array', prefixItems: [{ type: 'array', items: {} }, { type: 'string' }], items: false },
  ],
  'an open tuple': [
    { type: 'array', items: [{ type: 'string' }] },
    { type: 'array', prefixItems: [{ type: 'string' }], items: {} },
  ],
  'required properties': [
    {
      type: 'object',
      properties: { one: { type: 'string', required: true }, two: { type: 'string', required: false } },
    },
    { type: 'object', properties: { one: { type: 'string' }, two: { type: 'string' } }, required: ['one'] },
  ],
  'keywords without a value': [
    { type: 'object', properties: { one: { type: 'string', enum: null, default: null } }, required: null },
    { type: 'object', properties: { one: { type: 'string', default: null } } },
  ],
  'exclusive bounds': [
    { type: 'number', minimum: 0, exclusiveMinimum: true, maximum: 9, exclusiveMaximum: false },
    { type: 'number', exclusiveMinimum: 0, maximum: 9 },
  ],
};

describe('the schema of a tool', () => {
  for (const [name, [older, current]] of Object.entries(OLDER)) {
    it(`has ${name} in the form of the current draft, at any depth`, () => {
      // contract 4.8:66
      const around = (schema: JsonObject): JsonObject => ({
        type: 'object',
        properties: { items: schema, inner: { type: 'object', properties: { one: { anyOf: [schema] } } } },
      });
      for (const upstream of WIRE_FORMAT_NAMES) {
        expect(sentTool(upstream, around(older)).schema, upstream).to.deep.equal(around(current));
        expect(sentTool(upstream, around(current)).schema, upstream).to.deep.equal(around(current));
      }
    });
  }

  it('has the keywords of the definition that it refers to at its top', () => {
    // contract 4.8:66
    const definitions = { Look: { type: 'object', properties: PROPERTIES, required: ['id'] } };
    for (const upstream of ['chat-completions', 'responses', 'messages'] as const) {
      const { schema } = sentTool(upstream, { $ref: '#/definitions/Look', definitions });
      expect(schema, upstream).to.deep.equal({ ...definitions.Look, definitions });
    }
  });

  it('has definitions in the place of references for generate-content, also of references with escapes', () => {
    const properties = { list: { $ref: '#/definitions/List%3Cstring%3E' }, one: { $ref: '#/definitions/100%' } };
    const definitions = { 'List<string>': { type: 'array', items: { type: 'string' } }, '100%': { type: 'number' } };
    const { schema } = sentTool('generate-content', { type: 'object', properties, definitions });
    expect(schema).to.deep.equal({
      type: 'object',
      properties: { list: definitions['List<string>'], one: definitions['100%'] },
    });
  });

  for (const upstream of WIRE_FORMAT_NAMES) {
    const needsProperties = upstream === 'chat-completions' || upstream === 'responses';

    it(`describes an object for ${upstream}, whatever it lacks`, () => {
      const empty = { type: 'object', ...(needsProperties && { properties: {} }) };
      expect(sentTool(upstream, { type: 'object' })).to.deep.equal({ schema: empty, strict: false, lost: [] });
      expect(sentTool(upstream, {})).to.deep.equal({ schema: empty, strict: false, lost: [] });
      expect(sentTool(upstream, { properties: PROPERTIES }).schema).to.deep.equal({
        type: 'object',
        properties: PROPERTIES,
      });
      if (upstream !== 'generate-content') expect(sentTool(upstream, undefined).schema).to.deep.equal(empty);
    });

    it(`has alternatives at its top in words if ${upstream} refuses them, and names them`, () => {
      // contract 4.8:21
      const schema = { type: 'object', anyOf: EITHER, properties: PROPERTIES };
      const sent = sentTool(upstream, schema);
      const isRefused = upstream !== 'generate-content';
      const { anyOf: _, ...rest } = { ...schema, description: JSON.stringify({ anyOf: EITHER }) };
      expect(sent.schema).to.deep.equal(isRefused ? rest : schema);
      const name = upstream === 'chat-completions' ? 'tools.input_schema.anyOf' : 'tools.parameters.anyOf';
      expect(sent.lost).to.deep.equal(isRefused ? [name] : []);
    });
  }

  const strictness: readonly (readonly [WireFormatName, what: string, JsonObject, strict: boolean])[] = [
    ['responses', 'requires all its properties', CLOSED, true],
    ['responses', 'has an optional property', { ...CLOSED, required: ['id'] }, false],
    ['responses', 'is open', { type: 'object', properties: PROPERTIES, required: ['path', 'id'] }, false],
    ['messages', 'has an optional property', { ...CLOSED, required: ['id'] }, true],
    ['messages', 'has a map', { ...CLOSED, properties: { map: MAP } }, false],
  ];
  for (const [upstream, what, schema, strict] of strictness) {
    it(`is ${strict ? '' : 'not '}strict for ${upstream} if it ${what}`, () => {
      const sent = sentTool(upstream, schema, true);
      expect(sent.strict).to.equal(strict);
      expect(sent.lost).to.deep.equal(strict ? [] : ['tools.strict']);
    });
  }

  it('is strict for messages up to what vendors compile for a request, and then is not', () => {
    // contract 4.8:69
    const strictIn = (schemas: readonly JsonObject[]): readonly [number, readonly string[]] => {
      const tools = schemas.map((parameters, index) => ({ name: `tool${index}`, parameters, strict: true }));
      const { body, lost } = planned('messages', { tools });
      return [listOf(body['tools']).filter((tool) => objectOf(tool)['strict'] === true).length, lost];
    };
    const times = (count: number, schema: JsonObject): JsonObject[] => Array.from({ length: count }, () => schema);
    const optional = { ...CLOSED, required: [] };
    const union = { ...CLOSED, properties: { path: { type: ['string', 'null'] }, id: { anyOf: [{ type: 'null' }] } } };
    expect(strictIn(times(20, CLOSED))).to.deep.equal([20, []]);
    expect(strictIn(times(21, CLOSED))).to.deep.equal([20, ['tools.strict']]);
    expect(strictIn(times(12, optional))).to.deep.equal([12, []]);
    expect(strictIn([...times(13, optional), CLOSED])).to.deep.equal([13, ['tools.strict']]);
    expect(strictIn(times(9, union))).to.deep.equal([8, ['tools.strict']]);
  });

  it('has its limits in words if it is strict for messages', () => {
    const properties = { id: { type: 'integer', minimum: 1 } };
    expect(sentTool('messages', { ...CLOSED, properties, required: ['id'] }, true).schema).to.deep.equal({
      ...CLOSED,
      properties: { id: { type: 'integer', description: '{"minimum":1}' } },
      required: ['id'],
    });
  });
});

describe('the schema of an answer for messages', () => {
  const answerBy = (schema: JsonObject) =>
    planned('messages', { outputFormat: { type: 'json-schema', name: 'answer', schema } });

  it('has limits that vendors refuse in words, and names them', () => {
    // contract 4.8:21
    const list = { type: 'array', items: { type: 'string' } };
    const { body, lost } = answerBy({
      ...CLOSED,
      properties: { few: { ...list, minItems: 1 }, many: { ...list, minItems: 3 } },
    });
    expect(body)
      .to.have.nested.property('output_config.format.schema.properties')
      .that.deep.equals({
        few: { ...list, minItems: 1 },
        many: { ...list, description: '{"minItems":3}' },
      });
    expect(lost).to.deep.equal(['response_format.json_schema.schema.minItems']);
  });

  it('is that of a tool if it has more alternatives than vendors compile', () => {
    const names = Array.from({ length: 17 }, (_, index) => `p${index}`);
    const properties = Object.fromEntries(names.map((name) => [name, { type: ['string', 'null'] }]));
    const { body } = answerBy({ type: 'object', properties, required: names });
    expect(body).to.not.have.property('output_config');
    expect(body).to.containSubset({ tools: [{ name: 'answer' }], tool_choice: { name: 'answer' } });
  });

  it('is that of a tool if it has a map, which vendors refuse', () => {
    const schema = { type: 'object', properties: { map: MAP } };
    const { body, lost } = answerBy(schema);
    expect(body).to.not.have.property('output_config');
    expect(body).to.containSubset({
      tools: [{ name: 'answer', input_schema: schema }],
      tool_choice: { name: 'answer' },
    });
    expect(lost).to.deep.equal([]);
  });
});
