import { expect } from 'chai';
import { repeat } from '../../domain/background-loop.ts';

const HOUR_MS = 3_600_000;
const fail = (error: unknown): void => expect.fail(String(error));

describe('repeat', () => {
  it('runs a pass at once, and the next without a pause while more work waits', async () => {
    let left = 3;
    const isDone = new Promise<void>((resolve) => {
      const pass = async (): Promise<boolean> => {
        left -= 1;
        if (left === 0) resolve();
        return left > 0;
      };
      repeat(pass, { pauseMs: HOUR_MS, onError: fail });
    });
    await isDone;
    expect(left).to.equal(0);
  });

  it('reports the error of a pass, and runs the next pass after the pause', async () => {
    const errors: unknown[] = [];
    let passes = 0;
    const repetition = await new Promise<ReturnType<typeof repeat>>((resolve) => {
      const made = repeat(
        async () => {
          passes += 1;
          if (passes === 1) throw new Error('away');
          // `made` is assigned by the second pass.
          resolve(made);
        },
        { pauseMs: 1, onError: (error) => errors.push(error) },
      );
    });
    await repetition.stop();
    expect(errors.map(String)).to.deep.equal(['Error: away']);
  });

  it('stops when the pass in progress has ended, and does not wait for the pause', async () => {
    const steps: string[] = [];
    let finish = (): void => {};
    const held = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const repetition = repeat(
      async () => {
        await held;
        steps.push('pass');
      },
      { pauseMs: HOUR_MS, onError: fail },
    );
    const stopped = repetition.stop().then(() => steps.push('stopped'));
    finish();
    await stopped;
    expect(steps).to.deep.equal(['pass', 'stopped']);
  });
});
