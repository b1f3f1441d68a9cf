import { expect } from 'chai';
import * as fc from 'fast-check';
import Joi from 'joi';
import { toJsonSchema } from '../../../api/openapi/joi-schema.ts';
import {
  createKeySchema,
  adjustmentSchema,
  createAccountSchema,
  operatorActionSchema,
  topUpSchema,
  updateKeySchema,
} from '../../../services/input/admin.ts';
import { createImageRequestParser } from '../../../services/input/image-request.ts';
import { createVideoRequestParser } from '../../../services/input/video-request.ts';
import { createEndpointSchema, redeliverSchema, updateEndpointSchema } from '../../../services/input/webhooks.ts';
import { createValidator } from '../../../services/input/validation.ts';
import { CATALOGUE } from '../../support/catalogue.ts';
import { READ_REQUEST as READ_CHAT_REQUEST } from '../../../text/chat-completions/request-shape.ts';
import { FORMATS } from '../../../text/formats.ts';
import { READ_REQUEST as READ_NATIVE_REQUEST } from '../../../text/generate-content/request-shape.ts';
import { READ_REQUEST as READ_MESSAGES_REQUEST } from '../../../text/messages/request-shape.ts';
import { READ_REQUEST as READ_RESPONSES_REQUEST } from '../../../text/responses/request-shape.ts';
import { schemaChecks } from '../../support/openapi.ts';
import { createRefusalReader } from '../../support/refusal.ts';
import { casesOf } from '../../support/properties.ts';

const { faultsOf } = schemaChecks({ closed: false });
const isPublicHttpsUrl = (text: string): boolean => text.startsWith('https://');

type Parse = (body: unknown) => unknown;

const accepts = (parse: Parse, body: unknown): boolean => createRefusalReader(parse)(body) === 'accepted';

function fits(schema: string, body: unknown): boolean {
  return faultsOf(`#/components/schemas/${schema}`, body).length === 0;
}

type Values = Readonly<Record<string, readonly unknown[]>>;

/** The valid body with a few fields changed, added or omitted. */
function bodiesLike(good: object, values: Values): fc.Arbitrary<object> {
  const changes = Object.entries(values).flatMap(([field, choices]) =>
    [...choices, undefined].map((value) => [field, value] as const),
  );
  return fc.array(fc.constantFrom(...changes), { maxLength: 3 }).map((changed) => {
    const body = { ...good, ...Object.fromEntries(changed) };
    return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined));
  });
}

const texts = ['', 'a', 7, null];
const link = 'https://example.com/a.png';
const links = [
  [],
  [link],
  Array.from({ length: 5 }, () => link),
  Array.from({ length: 17 }, () => link),
  ['ftp://a'],
  [7],
  link,
];
const ratios = ['16:9', '1:1', '21:9', 'adaptive', null];

const videoFields = {
  model: [...CATALOGUE.videoModels.keys(), 'imagea-2.5-sunburst', 7],
  prompt: [...texts, '漢'.repeat(5_000), '漢'.repeat(5_001)],
  images: links,
  reference_videos: links,
  reference_audios: links,
  duration: [1, 2, 3, 15, 16, 30, 31, 4.5, '5', null],
  aspect_ratio: ratios,
  resolution: ['720p', '1080p', '480p'],
  seed: [1],
};
const imageFields = {
  model: [...CATALOGUE.imageModels.keys(), 'vidone-3.0'],
  prompt: texts,
  images: links,
  aspect_ratio: ratios,
  resolution: ['1K', '4K', '1k'],
  size: ['1536x1024', '1536*1024', '', 7],
  background: ['auto', 'opaque', 'none'],
  foo: [1],
};
const keyFields = {
  name: [...texts, 'a'.repeat(201)],
  usage_limit_usd: [0, 12.5, '12.50', null, -1, 'much', true],
  models: [null, [], ['vidone-3.0'], [''], 'vidone-3.0'],
  ip_allowlist: [null, [], ['10.0.0.0/8'], [7], '10.0.0.0/8'],
  expires_at: [null, '2027-01-01T00:00:00Z', 'soon', 7],
  rate_limit_rpm: [null, 1, 0, 1.5, 1_000_001, '60'],
  foo: [1],
};
const urls = ['https://example.com/hook', '', 7, `https://${'a'.repeat(2_048)}`];
const endpointFields = {
  url: urls,
  description: [...texts, 'a'.repeat(1_001)],
  events: [['task.failed'], ['task.failed', 'task.succeeded'], [], ['task.queued'], 'task.failed', null],
};
const moments = ['2026-10-01T08:00:00Z', 1_790_000_000, 'yesterday', -1, 1.5, 100_000_000_000, null];

interface DescribedRequest {
  readonly schema: string;
  readonly parse: Parse;
  readonly good: object;
  readonly values: Values;
}

const requests: readonly DescribedRequest[] = [
  {
    schema: 'CreateVideoTask',
    parse: createVideoRequestParser(CATALOGUE, { isInputLink: isPublicHttpsUrl }),
    good: { model: 'vidone-3.0', prompt: 'A lighthouse' },
    values: videoFields,
  },
  {
    schema: 'CreateImageTask',
    parse: createImageRequestParser(CATALOGUE, { isInputLink: isPublicHttpsUrl }),
    good: { model: 'imagea-2.5-sunburst', prompt: 'A lighthouse' },
    values: imageFields,
  },
  {
    schema: 'CreateWebhook',
    parse: createValidator(createEndpointSchema),
    good: { url: urls[0] },
    values: endpointFields,
  },
  {
    schema: 'UpdateWebhook',
    parse: createValidator(updateEndpointSchema),
    good: {},
    values: { ...endpointFields, enabled: [true, 'yes'] },
  },
  {
    schema: 'Redeliver',
    parse: createValidator(redeliverSchema),
    good: { from: moments[0] },
    values: { from: moments, to: moments, status: ['failed', 'delivered', 'lost'] },
  },
  {
    schema: 'CreateAccount',
    parse: createValidator(createAccountSchema),
    good: { name: 'Acme' },
    values: { name: [...texts, 'a'.repeat(201)], signup_credit_usd: [0, '5', -1, 1e13, 'a'] },
  },
  {
    schema: 'TopUp',
    parse: createValidator(topUpSchema),
    good: { amount_usd: 25, reference: 'invoice-2031' },
    values: { amount_usd: ['25.5', 0, -1, '-1', 1e13, 'a', null], reference: [...texts, 'a'.repeat(256)] },
  },
  {
    schema: 'Adjustment',
    parse: createValidator(adjustmentSchema),
    good: { amount_usd: -1.5, reason: 'An outage' },
    values: { amount_usd: ['2', '-2', 0, 'a', null], reason: texts, author: texts },
  },
  {
    schema: 'OperatorActionRequest',
    parse: createValidator(operatorActionSchema),
    good: { reason: 'An outage' },
    values: { reason: texts, author: texts, foo: [1] },
  },
  { schema: 'CreateKey', parse: createValidator(createKeySchema), good: {}, values: keyFields },
  {
    schema: 'UpdateKey',
    parse: createValidator(updateKeySchema),
    good: {},
    values: { ...keyFields, disabled: [true, 'yes'] },
  },
];

describe('the description of requests', () => {
  for (const { schema, parse, good, values } of requests) {
    it(`accepts and refuses the same bodies as the check of ${schema}`, () => {
      fc.assert(
        fc.property(bodiesLike(good, values), (body) => {
          expect(fits(schema, body), JSON.stringify(body)).to.equal(accepts(parse, body));
        }),
        { numRuns: casesOf(400) },
      );
    });
  }

  it('has a translation for every rule of a schema, or fails', () => {
    for (const schema of [Joi.string().email(), Joi.number().port(), Joi.date(), Joi.object().or('a', 'b')]) {
      expect(() => toJsonSchema(schema)).to.throw('has no conversion to JSON Schema yet');
    }
  });
});

const ANY_VALUES = [null, 'a', '', 0, 1, 3, true, false, [], [1], ['a'], {}, { type: 'text' }, { a: 1 }];

const textRequests = [
  {
    schema: 'ChatCompletionRequest',
    format: FORMATS['chat-completions'],
    fields: READ_CHAT_REQUEST.full.shape,
    body: { model: 'textc-M3', messages: [{ role: 'user', content: 'Hi' }] },
  },
  {
    schema: 'ResponsesRequest',
    format: FORMATS.responses,
    fields: READ_RESPONSES_REQUEST.full.shape,
    body: { model: 'textc-M3', input: 'Hi' },
  },
  {
    schema: 'MessagesRequest',
    format: FORMATS.messages,
    fields: READ_MESSAGES_REQUEST.full.shape,
    // Without tools, the tool choice is not checked.
    body: { model: 'textc-M3', max_tokens: 9, messages: [{ role: 'user', content: 'Hi' }], tools: [{ name: 'look' }] },
  },
  {
    schema: 'GenerateContentRequest',
    format: FORMATS['generate-content'],
    fields: READ_NATIVE_REQUEST.full.shape,
    body: { contents: [{ parts: [{ text: 'Hi' }] }] },
  },
] as const;

describe('the description of text requests', () => {
  for (const { schema, format, fields, body } of textRequests) {
    const parse: Parse = (request) =>
      format.client.parseRequest(request, {
        address: { model: 'texth-4-argon', stream: false },
        compatibility: 'full',
      });

    it(`accepts and refuses each field of the ${format.name} format as its parser does`, () => {
      // contract 4.8:5
      const names = [...Object.keys(fields), 'no_such_field'].filter((name) => name !== 'model');
      const disagreements = names.flatMap((field) =>
        // The description does not tell clients that an unknown field may be null.
        ANY_VALUES.filter((value) => value !== null || field in fields)
          .map((value) => ({ ...body, [field]: value }))
          .filter((request) => fits(schema, request) !== accepts(parse, request))
          .map((request) => JSON.stringify(request)),
      );
      expect(disagreements).to.deep.equal([]);
    });

    it(`requires what the parser of the ${format.name} format requires`, () => {
      for (const field of Object.keys(body)) {
        const { [field]: _left, ...rest }: Record<string, unknown> = body;
        expect(fits(schema, rest), field).to.equal(accepts(parse, rest));
      }
    });
  }

  it('accepts the fields of the native format in both spellings', () => {
    // contract 4.8.4:2
    const contents = [{ parts: [{ inline_data: { mimeType: 'image/png', data: 'AA==' } }] }];
    expect(fits('GenerateContentRequest', { contents, generation_config: { max_output_tokens: 5 } })).to.equal(true);
    expect(fits('GenerateContentRequest', { contents, generation_configuration: {} })).to.equal(false);
  });
});
