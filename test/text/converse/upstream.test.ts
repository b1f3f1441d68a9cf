import { expect } from 'chai';
import type { JsonObject } from '../../../domain/json.ts';
import type { FinishReason, StreamEvent, TextRequest, Turn } from '../../../text/canonical.ts';
import { collect } from '../../../text/collect.ts';
import { converse } from '../../../text/converse/index.ts';
import { runStage } from '../../../text/stage.ts';
import { textRequest } from '../support.ts';

const { upstream } = converse;

describe('Converse upstream', () => {
  describe('requests', () => {
    const text = (words: string) => ({ type: 'text', text: words }) as const;
    const bodyOf = (request: Partial<TextRequest>): JsonObject =>
      upstream.buildRequest(textRequest(request), { model: 'upstream-model', apiKey: 'secret' }).body;

    it('have the system text of the beginning in one place, and later system text in its own', () => {
      const body = bodyOf({
        turns: [
          { role: 'system', parts: [text('Be kind.')] },
          { role: 'system', parts: [text('Be brief.'), text(' ')] },
          { role: 'user', parts: [text('Hi')] },
          { role: 'system', parts: [text('Be quick.')] },
        ],
      });
      expect(body['system']).to.deep.equal([{ text: 'Be kind.' }, { text: 'Be brief.' }]);
      expect(body['messages']).to.deep.equal([
        { role: 'user', content: [{ text: 'Hi' }, { text: '<system-reminder>\nBe quick.\n</system-reminder>' }] },
      ]);
    });

    it('have system text as a message where there is no other', () => {
      const turns: Turn[] = [{ role: 'system', parts: [text('Be kind.')] }];
      const body = bodyOf({ turns });
      expect(body['messages']).to.deep.equal([{ role: 'user', content: [{ text: 'Be kind.' }] }]);
      expect(body).not.to.have.property('system');
    });
  });

  describe('answers', () => {
    const usage = {
      inputTokens: 5,
      cacheReadInputTokens: 20,
      cacheWriteInputTokens: 300,
      cacheDetails: [{ ttl: '1h', inputTokens: 100 }],
      outputTokens: 7,
    };

    function streamed(stopReason: string): readonly StreamEvent[] {
      const events: readonly (readonly [string, JsonObject])[] = [
        ['messageStart', { role: 'assistant' }],
        ['contentBlockDelta', { contentBlockIndex: 0, delta: { text: 'Hi' } }],
        ['contentBlockStop', { contentBlockIndex: 0 }],
        ['messageStop', { stopReason }],
        ['metadata', { usage }],
      ];
      const sent = events.map(([event, data]) => ({ event, data: JSON.stringify(data) }));
      return runStage(sent, upstream.parseStream());
    }

    for (const [stopReason, reason] of [
      ['end_turn', 'stop'],
      ['stop_sequence', 'stop'],
      ['max_tokens', 'length'],
      ['model_context_window_exceeded', 'length'],
      ['tool_use', 'tool-calls'],
    ] as const satisfies readonly (readonly [string, FinishReason])[]) {
      it(`that end with ${stopReason} have the finish reason ${reason}, and tokens of the cache in the input`, () => {
        const output = { message: { role: 'assistant', content: [{ text: 'Hi' }] } };
        for (const events of [upstream.parseResult({ output, stopReason, usage }), streamed(stopReason)]) {
          const result = collect(events);
          expect(result.choices).to.deep.equal([{ parts: [{ type: 'text', text: 'Hi' }], finish: { reason } }]);
          expect(result.usage).to.include({
            inputTotal: 325,
            cacheRead: 20,
            cacheWrite: 300,
            cacheWrite1h: 100,
            outputTotal: 7,
          });
        }
      });
    }
  });
});
