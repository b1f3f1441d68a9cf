import { expect } from 'chai';
import * as fc from 'fast-check';
import { Meter } from '../../../text/meter.ts';
import { runStage } from '../../../text/stage.ts';
import { streamVectors } from '../../../text/embeddings/read-answer.ts';

/** The client's answer for an upstream's answer in these pieces. */
function passed(pieces: readonly Buffer[], inputCount: number): { readonly body: unknown; readonly meter: Meter } {
  const meter = new Meter();
  const stage = streamVectors({ inputCount, encoding: 'float', shape: 'list', model: 'sold', meter });
  const written = runStage(
    pieces.map((bytes) => ({ bytes })),
    stage,
  );
  return { body: JSON.parse(Buffer.concat(written).toString()), meter };
}

function cut(bytes: Buffer, sizes: readonly number[]): readonly Buffer[] {
  const pieces: Buffer[] = [];
  let at = 0;
  for (const size of sizes) {
    pieces.push(bytes.subarray(at, at + size));
    at += size;
  }
  return [...pieces, bytes.subarray(at)];
}

const awkward = fc.string({ unit: 'grapheme' }).map((text) => `"data":[{"embedding":[${text}\\"`);

describe('the vectors of an answer', () => {
  it('pass unchanged, for any split into pieces and any surrounding fields', () => {
    const property = fc.property(
      fc.array(fc.array(fc.double({ noNaN: true, noDefaultInfinity: true })), { minLength: 1, maxLength: 5 }),
      fc.array(fc.integer({ min: 0, max: 40 }), { maxLength: 30 }),
      awkward,
      fc.constantFrom(undefined, 1),
      (vectors, sizes, text, space) => {
        const data = vectors.map((embedding, index) => ({ note: text, embedding, index, extra: { list: [text] } }));
        const usage = { prompt_tokens: 7, total_tokens: 7 };
        const answer = Buffer.from(
          JSON.stringify({ before: text, usage, other: [[text]], data, after: text }, null, space),
        );
        const { body, meter } = passed(cut(answer, sizes), vectors.length);
        expect(body).to.deep.equal({ object: 'list', data: JSON.parse(JSON.stringify(data)), model: 'sold', usage });
        expect([meter.finished, meter.usage.inputTotal]).to.deep.equal([true, 7]);
      },
    );
    fc.assert(property);
  });

  it('pass after a byte order mark', () => {
    const { body } = passed([Buffer.from('\uFEFF{"data":[{"embedding":[1]}],"usage":{"prompt_tokens":7}}')], 1);
    expect(body).to.have.deep.nested.property('data[0]', { embedding: [1] });
  });

  it('may be the only vector of Vertex, longer than other fields', () => {
    const values = Array.from({ length: 4_000 }, (_, index) => index + 0.123456789);
    const answer = { embedding: { values }, usageMetadata: { promptTokenCount: 7 } };
    const { body, meter } = passed(cut(Buffer.from(JSON.stringify(answer)), [9, 20, 60_000, 60_000]), 1);
    expect(body).to.deep.include({ data: [{ object: 'embedding', index: 0, embedding: values }] });
    expect(meter.usage.inputTotal).to.equal(7);
  });

  it('are passed on one by one, before their list ends', () => {
    const stage = streamVectors({ inputCount: 2, encoding: 'float', shape: 'list', model: 'sold', meter: new Meter() });
    const seen: string[] = [];
    const emit = (bytes: Uint8Array): void => void seen.push(Buffer.from(bytes).toString());
    stage.push({ bytes: Buffer.from('{"data":[{"embedding":[1]},{"embed') }, emit);
    expect(seen.join('')).to.equal('{"object":"list","data":[{"embedding":[1]}');
  });

  it('end the answer when one of them, or the surrounding text, exceeds the memory limit', () => {
    for (const start of ['{"data":[{"embedding":[', '{"other":[']) {
      const stage = streamVectors({
        inputCount: 1,
        encoding: 'float',
        shape: 'list',
        model: 'sold',
        meter: new Meter(),
      });
      const bytes = Buffer.from('1,'.repeat(2 ** 20));
      stage.push({ bytes: Buffer.from(start) }, () => {});
      expect(() => stage.push({ bytes: Buffer.concat([bytes, bytes]) }, () => {})).to.throw('cannot be read');
    }
  });
});
