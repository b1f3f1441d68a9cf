import { expect } from 'chai';
import * as fc from 'fast-check';
import { lineForOperators, wordsForClient } from '../../../providers/text/vendor-words.ts';

const KEY = 'k-9d2c';

describe('what an upstream says', () => {
  describe('in the log', () => {
    for (const [what, message] of [
      ['a key of ours', `The key ${KEY} is wrong.`],
      ['a key of anybody', 'Incorrect API key provided: sk-proj-aBcD1234efGh5678.'],
      ['a masked key', 'Incorrect API key provided: sk-proj-****************abcd.'],
      ['a header', 'Got "Authorization: Bearer abc.def-123".'],
      ['a long quotation of a prompt', `Cannot read "${'my deepest wish is '.repeat(5)}".`],
    ] as const) {
      it(`does not hold ${what}`, () => {
        expect(lineForOperators(message, [KEY])).to.not.match(/k-9d2c|abcd|aBcD|abc\.def|deepest/);
      });
    }

    it('is one line of a few hundred characters, whatever it is', () => {
      fc.assert(
        fc.property(fc.string({ unit: 'binary', maxLength: 2_000 }), (message) => {
          const line = lineForOperators(message, [KEY]);
          expect(line).to.not.match(/[\r\n\u2028\u2029]/);
          expect(line.length).to.be.at.most(301);
        }),
      );
    });

    it('is unchanged when there is nothing to hide', () => {
      for (const message of [
        'The engine is currently overloaded, please try again later.',
        "It can't take 'temperature' beside 'top_p', not with this model and its settings: don't send both of them.",
      ]) {
        expect(lineForOperators(message, [KEY])).to.equal(message);
      }
    });
  });

  describe('to a client', () => {
    for (const [message, shown] of [
      ["Invalid value for 'temperature': must be at most 2.", "Invalid value for 'temperature': must be at most 2."],
      [
        'max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens for claude-sonnet-4-5-20250929',
        'max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens for the model',
      ],
      [
        'messages.1: `tool_use` ids were found without `tool_result` blocks.',
        'messages.1: `tool_use` ids were found without `tool_result` blocks.',
      ],
      ['secret-name does not take images. (request id: 2025abc)', 'the model does not take images.'],
      ['Too many images. See https://vendor.example/docs/limits for more.', 'Too many images. See for more.'],
    ] as const) {
      it(`is passed on where it is about the request: ${shown}`, () => {
        expect(wordsForClient(message, 'secret-name', [KEY])).to.equal(shown);
      });
    }

    for (const message of [
      'Your organization must be verified to stream this model.',
      'Your credit balance is too low.',
      'The API key k-9d2c has no access.',
      'Project proj_1 has no deployment of that name.',
      'This model is not served at this endpoint.',
      '<html><body>400 Bad Request</body></html>',
      '',
    ]) {
      it(`is kept back where it is about the operator, or nothing: ${message}`, () => {
        expect(wordsForClient(message, 'secret-name', [KEY])).to.equal('');
      });
    }

    it('has other words that hold the name of the model as they are', () => {
      expect(wordsForClient('o1 takes no o1-style foo1 of it.', 'o1', [])).to.equal(
        'the model takes no o1-style foo1 of it.',
      );
      expect(wordsForClient('a/b(c) is full.', 'a/b(c)', [])).to.equal('the model is full.');
    });

    it('names no address and no maker of models', () => {
      const message = 'POST http://10.0.0.7:8080/v1 of gw.internal.example:8443: OpenAI gpt-4o-mini wants a@b.example.';
      expect(wordsForClient(message, 'secret-name', [])).to.not.match(/10\.0|8080|gw|OpenAI|gpt|@/i);
    });
  });
});
