import { expect } from 'chai';
import { loadCatalogue } from '../../catalogue/load.ts';
import { type TextModel, hasFormat, isClaudeStyle } from '../../catalogue/types.ts';
import { WIRE_FORMAT_NAMES } from '../../domain/wire-format-name.ts';

const catalogue = loadCatalogue();
const textModels = [...catalogue.textModels.values()];
const idsWhere = (holds: (model: TextModel) => boolean): string[] => textModels.filter(holds).map(({ id }) => id);

const idsOf = (...families: readonly string[]): string[] => idsWhere(({ family }) => families.includes(family));

/** test/docs/contract.test.ts compares the models, limits and prices with `docs/contract.md`. */
describe('the catalogue', () => {
  it('has a version', () => {
    expect(catalogue.version).to.match(/\S/);
  });

  describe('text models', () => {
    it('answer every family on three formats, and texth and the demo families on the native one too', () => {
      // contract 1:3 2.6:1
      for (const model of textModels.filter(
        ({ family }) => !['embeddings', 'rerank', 'voice', 'realtime'].includes(family),
      )) {
        const formats = WIRE_FORMAT_NAMES.filter((format) => hasFormat(model, format));
        const expected = ['chat-completions', 'responses', 'messages'];
        expect(formats, model.id).to.deep.equal(
          /^(texth$|demo-)/.test(model.family) ? [...expected, 'generate-content'] : expected,
        );
      }
    });

    it('have a demo model with full compatibility for each format of upstreams, and no other', () => {
      // contract 2.6:1
      const full = textModels.filter(
        ({ compatibility, family }) =>
          compatibility === 'full' && family.startsWith('demo-') && family !== 'demo-audio',
      );
      expect(full.map(({ id, routes }) => [id, routes[0].format])).to.deep.equal([
        ['demo-chat', 'chat-completions'],
        ['demo-responses', 'responses'],
        ['demo-messages', 'messages'],
        ['demo-native', 'generate-content'],
      ]);
    });

    it('makes embeddings with one model, which answers on no format, over chat completions', () => {
      const makers = textModels.filter(({ formats }) => formats.includes('embeddings'));
      expect(makers.map(({ id, formats }) => [id, formats])).to.deep.equal([['textm-embed', ['embeddings']]]);
      expect(makers[0]?.routes.map(({ format }) => format)).to.deep.equal(['chat-completions']);
    });

    it('have upstreams of all four formats', () => {
      expect(new Set(textModels.map(({ routes }) => routes[0].format))).to.have.all.keys(...WIRE_FORMAT_NAMES);
    });

    it("use the model's id as the upstream's name for it unless the route has another", () => {
      for (const { id, routes } of textModels) expect(routes[0].model).to.equal(id);
    });

    it('accept reasoning and text on responses for textg alone', () => {
      const takesAny = idsWhere(({ responsesFields }) => responsesFields.length > 0);
      expect(takesAny).to.deep.equal(idsOf('textg'));
      expect(catalogue.textModels.get('textg-6-sol')?.responsesFields).to.deep.equal(['reasoning', 'text']);
    });

    it('accept low to max as reasoning effort on textg-6.1-sol, and none to max on the other textg models', () => {
      // contract 4.8.2:15
      for (const id of idsOf('textg')) {
        const efforts = ['low', 'medium', 'high', 'xhigh', 'max'];
        expect(catalogue.textModels.get(id)?.reasoningEfforts, id).to.deep.equal(
          id === 'textg-6.1-sol' ? efforts : ['none', ...efforts],
        );
      }
    });

    it('reason in the families texth and texti', () => {
      // contract 4.8.4:11
      for (const id of idsOf('texth', 'texti')) {
        expect(catalogue.textModels.get(id)?.reasoning, id).to.equal(true);
      }
    });

    it('require a funded account for texth-4-argon and a top-up for textk-5.3-flashx', () => {
      // contract 5:26
      expect(idsWhere(({ fundedOnly }) => fundedOnly)).to.deep.equal(['texth-4-argon']);
      expect(idsWhere(({ requiresTopUp }) => requiresTopUp)).to.deep.equal(['textk-5.3-flashx']);
    });

    it('have a hold for the output of a request without a bound', () => {
      for (const { id, assumedOutputTokens, family } of textModels) {
        if (!['embeddings', 'rerank', 'voice'].includes(family)) expect(assumedOutputTokens, id).to.be.above(0);
      }
    });
  });

  describe('lookups', () => {
    it('recognise ids that the responses format does not serve', () => {
      expect(isClaudeStyle(catalogue, 'claude-4')).to.equal(true);
      expect(textModels.filter(({ id }) => isClaudeStyle(catalogue, id))).to.deep.equal([]);
    });
  });

  describe('media models', () => {
    it('have a version of their capabilities if they make videos', () => {
      // contract 9:2
      const { videoModels, imageModels } = catalogue;
      expect([...videoModels.values()].every(({ capabilityVersion }) => capabilityVersion !== null)).to.equal(true);
      expect([...imageModels.values()].every(({ capabilityVersion }) => capabilityVersion === null)).to.equal(true);
    });

    it('give vidone-3.0-prime the limits and list price of vidone-3.0', () => {
      // contract 2.5:2
      const model = catalogue.videoModels.get('vidone-3.0');
      const prime = catalogue.videoModels.get('vidone-3.0-prime');
      expect({ ...prime, id: '', routes: [] }).to.deep.equal({ ...model, id: '', routes: [] });
    });

    it('charge more for a second of 1080p than of 720p', () => {
      for (const { pricing } of catalogue.videoModels.values()) {
        expect((pricing.byResolution['1080p'] ?? 0n) > (pricing.byResolution['720p'] ?? 0n)).to.equal(true);
      }
    });
  });
});
