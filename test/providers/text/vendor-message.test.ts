import { expect } from 'chai';
import * as fc from 'fast-check';
import { fieldNamesOf, toLogLine, redactVendorMessage } from '../../../providers/text/vendor-message.ts';

const KEY = 'k-9d2c';

describe('the message of an upstream', () => {
  describe('in the log', () => {
    for (const [what, message] of [
      ['a key of ours', `The key ${KEY} is wrong.`],
      ['a key of anybody', 'Incorrect API key provided: sk-proj-aBcD1234efGh5678.'],
      ['a masked key', 'Incorrect API key provided: sk-proj-****************abcd.'],
      ['a header', 'Got "Authorization: Bearer abc.def-123".'],
      ['a long quotation of a prompt', `Cannot read "${'my deepest wish is '.repeat(5)}".`],
    ] as const) {
      it(`does not hold ${what}`, () => {
        expect(toLogLine(message, [KEY])).to.not.match(/k-9d2c|abcd|aBcD|abc\.def|deepest/);
      });
    }

    it('a logged message is one line of a few hundred characters, whatever its content', () => {
      fc.assert(
        fc.property(fc.string({ unit: 'binary', maxLength: 2_000 }), (message) => {
          const line = toLogLine(message, [KEY]);
          expect(line).to.not.match(/[\r\n\u2028\u2029]/);
          expect(line.length).to.be.at.most(301);
        }),
      );
    });

    it('has no lone surrogate, which would keep the report of all calls from the database', () => {
      expect(toLogLine('Bad \ud83d, \udc00 or \0 in it.', [])).to.equal('Bad , or in it.');
      expect(toLogLine(`${'x'.repeat(299)}😀 and more`, [])).to.equal(`${'x'.repeat(299)}…`);
    });

    it('a logged message is unchanged without confidential parts', () => {
      for (const message of [
        'The engine is currently overloaded, please try again later.',
        "It can't take 'temperature' beside 'top_p', not with this model and its settings: don't send both of them.",
      ]) {
        expect(toLogLine(message, [KEY])).to.equal(message);
      }
    });
  });

  describe('to a client', () => {
    const fields = fieldNamesOf({
      temperature: 3,
      topP: 0.5,
      max_tokens: 100_000,
      messages: [{ role: 'user', content: [{ type: 'tool_use' }] }],
      tools: [{ function: { parameters: { properties: { openai: {}, arn: {} } } } }],
    });

    for (const [message, shown] of [
      ['`temperature` is deprecated for this model.', '`temperature` is deprecated for this model.'],
      [
        "Unsupported value: 'temperature' does not support 0.2 with this model. Only the default (1) value is supported.",
        "Unsupported value: 'temperature' does not support 0.2 with this model. Only the default (1) value is supported.",
      ],
      ['top_p may only be set when thinking is disabled', 'top_p may only be set when thinking is disabled'],
      ["Invalid value for 'temperature': must be at most 2.", "Invalid value for 'temperature': must be at most 2."],
      [
        'max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens for claude-sonnet-4-5-20250929',
        'max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens for …',
      ],
      [
        'messages.1.content.0: unexpected value, the role must be user.',
        'messages.1.content.0: unexpected value, the role must be user.',
      ],
      ['Too many images. See https://vendor.example/docs for more.', 'Too many images. See … for more.'],
    ] as const) {
      it(`a message about the request is passed on to the client: ${shown}`, () => {
        // contract 7.2:27
        expect(redactVendorMessage(message, fields)).to.equal(shown);
      });
    }

    for (const message of [
      'Your organization must be verified to stream this model.',
      'Your credit balance is too low.',
      'The API key k-9d2c has no access.',
      'Project proj_1 has no deployment of that name.',
      'This model is not served at this endpoint.',
      '<html><body>400 Bad Request</body></html>',
      'Der Wert ist ungültig.',
      '',
    ]) {
      it(`a message about the operator, or an empty one, is withheld from the client: ${message}`, () => {
        // contract 7.2:27
        expect(redactVendorMessage(message, fields)).to.equal('');
      });
    }

    for (const message of [
      'The value of temperature is invalid for OpenAI and openai models: it must be at most 2.',
      'The model arn:aws:bedrock:eu-west-1:123456789012:inference-profile/eu.x does not support this value.',
      'The model ft:gpt-4o-mini:acme-corp::9xYz does not support images in this message, and cannot read them.',
      'Invalid value for temperature, which must be at most 2 (request id: 0a1b2c3d4e5f, trace 4bf92f3577b34da6a3ce929d0e0e4736).',
      'The value of temperature is not valid: must be at most 2. x-amzn-RequestId 8f1c2b3a-77aa-4f5e',
      'POST http://10.0.0.7:8080/v1 of gw.internal.example:8443: gpt-4o-mini wants a@b.example.',
      'Invalid value for temperature from 10.0.0.7, user 123456789012 of the model must be less than 2.',
    ]) {
      it(`names no vendor, account, host or id: ${message}`, () => {
        // contract 7.2:27
        expect(redactVendorMessage(message, fields)).to.not.match(
          /openai|aws|arn|bedrock|eu-west|1234567890|gpt|acme|9xYz|0a1b|4bf9|amzn|8f1c|10\.0|8080|gw|@/i,
        );
      });
    }

    it('consists of known words, numbers and sent fields, whatever the upstream writes', () => {
      fc.assert(
        fc.property(fc.string({ unit: 'binary', maxLength: 400 }), (noise) => {
          const shown = redactVendorMessage(`the value of temperature must be at most 2 ${noise}`, new Set());
          expect(shown.length).to.be.at.most(301);
          for (const word of shown.match(/[\p{L}_$]{3,}/gu) ?? []) {
            expect(redactVendorMessage(`${word} ${word}`, new Set())).to.equal(`${word} ${word}`);
          }
        }),
      );
    });
  });
});
