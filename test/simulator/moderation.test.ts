import { expect } from 'chai';
import { useSimulator } from '../support/simulator.ts';

interface Moderation {
  readonly id: string;
  readonly model: string;
  readonly results: readonly {
    readonly flagged: boolean;
    readonly categories: Readonly<Record<string, boolean>>;
    readonly category_scores: Readonly<Record<string, number>>;
  }[];
}

describe('the simulated moderation endpoint', () => {
  const simulator = useSimulator();

  const moderate = async (input: unknown): Promise<Moderation> => {
    const response = await fetch(`${simulator.url}/v1/moderations`, {
      method: 'POST',
      body: JSON.stringify({ model: 'guard-1', input }),
    });
    expect(response.status).to.equal(200);
    return (await response.json()) as Moderation;
  };

  const flags = async (input: unknown): Promise<boolean[]> =>
    (await moderate(input)).results.map(({ flagged }) => flagged);

  it('accepts ordinary text with low scores', async () => {
    const { id, model, results } = await moderate('A lighthouse at dusk');
    expect(id).to.match(/^modr-/);
    expect(model).to.equal('guard-1');
    expect(results).to.have.length(1);
    expect(Object.values(results[0]?.categories ?? {})).to.not.include(true);
  });

  it('flags the directive and the words, and names a category', async () => {
    expect(await flags('a [sim:moderate] b')).to.deep.equal([true]);
    const { results } = await moderate('please FLAG ME now');
    expect(results[0]).to.include({ flagged: true });
    expect(results[0]?.categories).to.include({ violence: true });
    expect(results[0]?.category_scores['violence']).to.be.above(0.5);
  });

  it('does not flag a longer word with the same start', async () => {
    expect(await flags('flag metal')).to.deep.equal([false]);
  });

  it('judges a list of texts one by one, and a list of parts as one message', async () => {
    expect(await flags(['fine', 'flag me'])).to.deep.equal([false, true]);
    const image = { type: 'image_url', image_url: { url: 'https://example.com/a.png' } };
    expect(await flags([{ type: 'text', text: 'flag me' }, image])).to.deep.equal([true]);
    expect(await flags([image])).to.deep.equal([false]);
  });

  it('refuses any other input', async () => {
    for (const input of [undefined, null, 7, [], {}, [{ type: 'audio' }], ['text', 7]]) {
      const response = await fetch(`${simulator.url}/v1/moderations`, {
        method: 'POST',
        body: JSON.stringify({ input }),
      });
      expect(response.status, JSON.stringify(input)).to.equal(400);
    }
  });
});
