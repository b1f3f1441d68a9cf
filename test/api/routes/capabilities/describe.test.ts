import { join } from 'node:path';
import { Ajv } from 'ajv';
import addFormats from 'ajv-formats';
import { expect } from 'chai';
import { describeCapability } from '../../../../api/routes/capabilities/describe.ts';
import { createImageRequestParser } from '../../../../services/input/image-request.ts';
import { createVideoRequestParser } from '../../../../services/input/video-request.ts';
import { priceOf } from '../../../../services/money/customer-prices.ts';
import { loadCatalogue } from '../../../../catalogue/load.ts';

const ROOT = join(import.meta.dirname, '../../../..');
const PICTURE = 'https://gateway.example/docs/example.png';

describe('the example of a capability', () => {
  const ajv = new Ajv({ strict: false, logger: false });
  addFormats.default(ajv);

  for (const file of [
    'catalogue/catalogue.yaml',
    'catalogue/vendors.yaml',
    'test/fixtures/parameters/catalogue.yaml',
  ]) {
    const catalogue = loadCatalogue(join(ROOT, file));
    const context = { isInputLink: (text: string): boolean => text.startsWith('https://') };
    const parse = {
      video: createVideoRequestParser(catalogue, context),
      image: createImageRequestParser(catalogue, context),
    };
    for (const model of [...catalogue.videoModels.values(), ...catalogue.imageModels.values()]) {
      it(`fits the described inputs of ${model.id} in ${file}, is accepted, and has the described price`, () => {
        const { example, inputs, price } = describeCapability(model, PICTURE);
        expect(ajv.validate(inputs, example), ajv.errorsText()).to.equal(true);
        expect(priceOf(parse[model.kind]({ ...example, model: model.id }), null)).to.equal(price);
      });
    }
  }
});
