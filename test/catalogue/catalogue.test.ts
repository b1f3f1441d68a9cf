import { expect } from 'chai';
import { loadCatalogue } from '../../catalogue/load.ts';
import {
  TEXT_FORMATS,
  type TextModel,
  answersFormat,
  findImageModel,
  findMediaModel,
  findTextModel,
  findVideoModel,
  isClaudeStyle,
} from '../../catalogue/types.ts';

const catalogue = loadCatalogue();
const textModels = [...catalogue.textModels.values()];
const idsWhere = (holds: (model: TextModel) => boolean): string[] => textModels.filter(holds).map(({ id }) => id);

/** Specification sections 2.6 and 9. */
const IDS_BY_FAMILY = {
  textc: ['textc-M3'],
  textd: ['textd-v2.6-flash', 'textd-v2.5'],
  texte: ['texte-4-preview', 'texte-3'],
  textf: ['textf3.8-max', 'textf3.8-flash'],
  textg: [
    'textg-6.1-sol',
    'textg-6-astra',
    'textg-6-sol',
    'textg-6-luna',
    'textg-5.6-sol',
    'textg-5.6-terra',
    'textg-5.6-luna',
  ],
  texth: [
    'texth-4-argon',
    'texth-3.8-flash',
    'texth-3.1-pro-preview',
    'texth-3.7-flash',
    'texth-3.6-flash',
    'texth-3.8-flash-free',
  ],
  texti: ['texti-k3'],
  textj: ['textj-4.7', 'textj-4.6', 'textj-4.5'],
  textk: ['textk-5.3', 'textk-5.3-flash', 'textk-5.3-flashx', 'textk-5.3-free', 'textk-5.3-flash-free'],
  textl: [
    'textl-v4.1-flash',
    'textl-v4-pro-0813',
    'textl-v4.1-flash-hc',
    'textl-v4-pro-0813-hc',
    'textl-v4-flash-0731',
    'textl-v4.1-flash-free',
    'textl-v4-flash-0731-free',
  ],
};

describe('the catalogue', () => {
  it('has a version', () => {
    expect(catalogue.version).to.match(/\S/);
  });

  describe('text models', () => {
    it('serves exactly the listed ids, by family', () => {
      const families = Object.keys(IDS_BY_FAMILY).map((family) => [
        family,
        idsWhere((model) => model.family === family),
      ]);
      expect(textModels).to.have.length(36);
      expect(Object.fromEntries(families)).to.deep.equal(IDS_BY_FAMILY);
    });

    for (const [id, contextTokens, maxOutputTokens] of [
      ['textc-M3', 1_048_576, 128_000],
      ['textd-v2.6-flash', 1_048_576, 128_000],
      ['textd-v2.5', 1_048_576, 128_000],
      ['texte-4-preview', null, null],
      ['texte-3', 256_000, 64_000],
      ['textf3.8-max', 1_000_000, 128_000],
      ['textf3.8-flash', null, null],
      ['textg-6.1-sol', 1_050_000, 128_000],
      ['textg-6-astra', 1_000_000, 128_000],
      ['textg-6-sol', 1_050_000, 128_000],
      ['textg-6-luna', 1_050_000, 128_000],
      ['texth-4-argon', null, 1_000_000],
      ['texth-3.8-flash', null, null],
      ['texth-3.1-pro-preview', 1_048_576, 65_536],
      ['texti-k3', 1_048_576, 128_000],
      ['textk-5.3', 1_000_000, 128_000],
      ['textk-5.3-flash', 1_000_000, 128_000],
      ['textk-5.3-flashx', 1_000_000, 128_000],
    ] as const) {
      it(`${id} has the published context and output limits`, () => {
        expect(findTextModel(catalogue, id)).to.include({ contextTokens, maxOutputTokens });
      });
    }

    it('answers every family on three formats, and texth on the native one too', () => {
      for (const model of textModels) {
        const formats = TEXT_FORMATS.filter((format) => answersFormat(model, format));
        const expected = ['chat-completions', 'responses', 'messages'];
        expect(formats, model.id).to.deep.equal(
          model.family === 'texth' ? [...expected, 'generate-content'] : expected,
        );
      }
    });

    it('has upstreams of all four formats', () => {
      expect(new Set(textModels.map(({ routes }) => routes[0].format))).to.have.all.keys(...TEXT_FORMATS);
    });

    it('calls every upstream model by its id where nothing else is said', () => {
      for (const { id, routes } of textModels) expect(routes[0].model).to.equal(id);
    });

    it('takes reasoning and text on responses for textg alone', () => {
      const takesAny = idsWhere(({ responsesFields }) => responsesFields.length > 0);
      expect(takesAny).to.deep.equal(IDS_BY_FAMILY.textg);
      expect(findTextModel(catalogue, 'textg-6-sol')?.responsesFields).to.deep.equal(['reasoning', 'text']);
    });

    it('takes low to max as reasoning effort on textg-6.1-sol, and none to max on the other textg models', () => {
      for (const id of IDS_BY_FAMILY.textg) {
        const efforts = ['low', 'medium', 'high', 'xhigh', 'max'];
        expect(findTextModel(catalogue, id)?.reasoningEfforts, id).to.deep.equal(
          id === 'textg-6.1-sol' ? efforts : ['none', ...efforts],
        );
      }
    });

    it('knows that texth and texti models reason', () => {
      for (const id of [...IDS_BY_FAMILY.texth, ...IDS_BY_FAMILY.texti]) {
        expect(findTextModel(catalogue, id)?.reasoning, id).to.equal(true);
      }
    });

    it('gives five models away', () => {
      expect(idsWhere(({ free }) => free)).to.have.members([
        'texth-3.8-flash-free',
        'textk-5.3-free',
        'textk-5.3-flash-free',
        'textl-v4.1-flash-free',
        'textl-v4-flash-0731-free',
      ]);
    });

    it('wants a funded account for texth-4-argon and a top-up for textk-5.3-flashx', () => {
      expect(idsWhere(({ fundedOnly }) => fundedOnly)).to.deep.equal(['texth-4-argon']);
      expect(idsWhere(({ requiresTopUp }) => requiresTopUp)).to.deep.equal(['textk-5.3-flashx']);
    });

    it('marks the older ids', () => {
      expect(idsWhere(({ legacy }) => legacy)).to.have.members([
        'textg-5.6-sol',
        'textg-5.6-terra',
        'textg-5.6-luna',
        'texth-3.6-flash',
        'texth-3.7-flash',
        'textj-4.5',
        'textj-4.6',
        'textl-v4-flash-0731',
      ]);
    });

    it('holds output for a request without a bound', () => {
      for (const { id, assumedOutputTokens } of textModels) expect(assumedOutputTokens, id).to.be.above(0);
    });
  });

  describe('lookups', () => {
    it('compare ids exactly', () => {
      for (const id of ['textc-m3', 'TEXTC-M3', ' textc-M3', 'textc', '', '__proto__', 'constructor']) {
        expect(findTextModel(catalogue, id), id).to.equal(undefined);
        expect(findMediaModel(catalogue, id), id).to.equal(undefined);
      }
    });

    it('find a media model of either kind', () => {
      expect(findMediaModel(catalogue, 'vidtwo-1.1')).to.equal(findVideoModel(catalogue, 'vidtwo-1.1'));
      expect(findMediaModel(catalogue, 'imageb-2')).to.equal(findImageModel(catalogue, 'imageb-2'));
      expect(findVideoModel(catalogue, 'imageb-2')).to.equal(undefined);
      expect(findMediaModel(catalogue, 'textc-M3')).to.equal(undefined);
    });

    it('recognise ids that the responses format does not answer', () => {
      expect(isClaudeStyle(catalogue, 'claude-4')).to.equal(true);
      expect(textModels.filter(({ id }) => isClaudeStyle(catalogue, id))).to.deep.equal([]);
    });
  });

  describe('media models', () => {
    it('has version 1 for videos and none for images', () => {
      const versions = [...catalogue.videoModels.values(), ...catalogue.imageModels.values()].map(
        ({ id, capabilityVersion }) => [id, capabilityVersion],
      );
      expect(versions).to.deep.equal([
        ['vidone-3.0', 1],
        ['vidone-3.0-prime', 1],
        ['vidtwo-1.1', 1],
        ['imagea-2.5-sunburst', null],
        ['imageb-2', null],
      ]);
    });

    it('gives vidone-3.0-prime the limits and list price of vidone-3.0', () => {
      const model = findVideoModel(catalogue, 'vidone-3.0');
      const prime = findVideoModel(catalogue, 'vidone-3.0-prime');
      expect({ ...prime, id: '', route: '' }).to.deep.equal({ ...model, id: '', route: '' });
    });

    it('charges more for a second of 1080p than of 720p', () => {
      for (const { pricePerSecond } of catalogue.videoModels.values()) {
        expect((pricePerSecond.get('1080p') ?? 0n) > (pricePerSecond.get('720p') ?? 0n)).to.equal(true);
      }
    });
  });
});
