import { expect } from 'chai';
import { useTestText } from '../../support/text.ts';

const TEN_MINUTES_MS = 600_000;

/** Simulates a machine whose clock is ten minutes late. */
describe('the clock of the database', () => {
  const text = useTestText({ clock: { nowMs: () => Date.now() + TEN_MINUTES_MS } });

  it('dates text requests, but does not measure their duration', async () => {
    const response = await text.ask('chat-completions', 'textd-v2.5', 'Hello');
    expect(response.status, await response.text()).to.equal(200);
    await text.idle();
    expect(text.charges.at(-1)?.startedAtMs).to.be.closeTo(Date.now() + TEN_MINUTES_MS, TEN_MINUTES_MS / 2);
    expect(text.outcomes.at(-1)?.latencyMs).to.be.within(0, TEN_MINUTES_MS / 2);
    expect(text.outcomes.at(-1)?.firstByteMs).to.be.within(0, TEN_MINUTES_MS / 2);
  });

  it('decides whether a key has expired', async () => {
    const apiKey = await text.createKey({ expiresAt: new Date(Date.now() + TEN_MINUTES_MS / 2) });
    const response = await text.ask('chat-completions', 'textd-v2.5', 'Hello', { apiKey });
    expect(response.status).to.equal(401);
    expect(await response.text()).to.include('expired');
  });
});
