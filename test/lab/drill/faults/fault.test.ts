import { expect } from 'chai';
import { strikeOne } from '../../../../lab/drill/faults/fault.ts';
import { createRandom } from '../../../../lab/drill/random.ts';
import { quietStage } from '../../../support/drill.ts';

const random = createRandom(1);

describe('a fault of a drill', () => {
  it('affects no process that another fault affects', async () => {
    const stage = quietStage();
    const victims = ['one', 'other'].map((name) => ({ name, isUp: () => true }));
    let under = 0;
    const struck = new Set<string>();
    const names = await Promise.all(
      Array.from({ length: 6 }, () =>
        strikeOne(
          stage,
          random,
          () => victims,
          async ({ name }) => {
            expect(struck.has(name)).to.equal(false);
            struck.add(name);
            under = Math.max(under, struck.size);
            await new Promise((resolve) => setTimeout(resolve, 5));
            struck.delete(name);
            return name;
          },
        ),
      ),
    );
    expect(names).to.have.length(6);
    expect(under).to.equal(2);
    expect(stage.struck).to.deep.equal(new Set());
  });

  it('waits until a process runs that it can affect', async () => {
    let isUp = false;
    const victim = { name: 'sleeper', isUp: () => isUp };
    const struck = strikeOne(
      quietStage(),
      random,
      () => [victim],
      async ({ name }) => `${name} was up: ${isUp}`,
    );
    setTimeout(() => (isUp = true), 20);
    expect(await struck).to.equal('sleeper was up: true');
  });
});
