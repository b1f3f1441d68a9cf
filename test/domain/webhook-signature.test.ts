import { expect } from 'chai';
import * as fc from 'fast-check';
import { createHmac } from 'node:crypto';
import { deliveryHeaders, newWebhookSecret, signDelivery, verifySignature } from '../../domain/webhook-signature.ts';

const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const BODY = '{"test": 2432232314}';
const NOW_SECONDS = 1_614_265_330;

function received(changes: Partial<Parameters<typeof verifySignature>[0]> = {}) {
  const signature = signDelivery({ secret: SECRET, timestampSeconds: NOW_SECONDS, body: BODY });
  return { secret: SECRET, timestamp: String(NOW_SECONDS), signature, body: BODY, nowSeconds: NOW_SECONDS, ...changes };
}

describe('webhook signatures', () => {
  it('use the hex HMAC-SHA256 over timestamp, full stop and raw body, with the shown secret as key', () => {
    // contract 6:9
    const expected = createHmac('sha256', SECRET).update(`${NOW_SECONDS}.${BODY}`).digest('hex');
    expect(signDelivery({ secret: SECRET, timestampSeconds: NOW_SECONDS, body: BODY })).to.equal(expected);
  });

  it('match the Standard Webhooks headers of the example in the tests of its libraries', () => {
    // contract 6:10 6:11
    const headers = deliveryHeaders({
      secret: SECRET,
      timestampSeconds: NOW_SECONDS,
      body: BODY,
      messageId: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      event: 'task.succeeded',
    });
    expect(headers['webhook-signature']).to.equal('v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=');
    expect(headers['webhook-id']).to.equal('msg_p5jXN8AQM9LWM0D4loKWxJek');
    expect(headers['webhook-timestamp']).to.equal(String(NOW_SECONDS));
    expect(headers['x-svc-event']).to.equal('task.succeeded');
    expect(headers['x-svc-timestamp']).to.equal(String(NOW_SECONDS));
    expect(headers['content-type']).to.equal('application/json');
    expect(headers['user-agent']).to.equal('Genway-Webhooks/1');
  });

  it('verify for payloads of any bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array(), fc.nat(4_000_000_000), (body, timestampSeconds) => {
        const secret = newWebhookSecret();
        const signature = signDelivery({ secret, timestampSeconds, body });
        const delivery = { secret, timestamp: String(timestampSeconds), signature, body, nowSeconds: timestampSeconds };
        return (
          verifySignature(delivery) && !verifySignature({ ...delivery, body: Buffer.concat([body, Buffer.from(' ')]) })
        );
      }),
    );
  });

  it('verify for a timestamp up to 5 minutes away, and fail beyond', () => {
    for (const seconds of [-300, -1, 0, 299, 300]) {
      expect(verifySignature(received({ nowSeconds: NOW_SECONDS + seconds })), String(seconds)).to.equal(true);
    }
    for (const seconds of [-301, 301, 86_400]) {
      expect(verifySignature(received({ nowSeconds: NOW_SECONDS + seconds })), String(seconds)).to.equal(false);
    }
  });

  it('fail for another secret, another timestamp and an invalid signature', () => {
    const wrong = [
      { secret: newWebhookSecret() },
      { timestamp: String(NOW_SECONDS + 1) },
      { timestamp: '' },
      { timestamp: 'now' },
      { timestamp: `${NOW_SECONDS}.0` },
      { timestamp: ` ${NOW_SECONDS}` },
      { signature: '' },
      { signature: 'f'.repeat(64) },
      { signature: received().signature.toUpperCase() },
      { signature: `${received().signature}0` },
      { signature: 'é'.repeat(32) },
    ];
    for (const change of wrong) {
      expect(verifySignature(received(change)), JSON.stringify(change)).to.equal(false);
    }
  });

  it('use secrets of 32 random bytes', () => {
    const secrets = Array.from({ length: 50 }, newWebhookSecret);
    expect(new Set(secrets)).to.have.length(50);
    for (const secret of secrets) {
      expect(secret).to.match(/^whsec_[A-Za-z0-9+/]{43}=$/);
      expect(Buffer.from(secret.slice(6), 'base64')).to.have.length(32);
    }
  });
});
