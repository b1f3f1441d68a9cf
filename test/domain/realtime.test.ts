import { expect } from 'chai';
import { normalizeOrigin, type Opening, refusalOfOpening } from '../../domain/realtime.ts';

const GOOD: Opening = {
  isOffered: true,
  credential: {
    kind: 'secret',
    restrictions: { allowedOrigins: ['https://app.example.com'], transports: ['websocket'] },
  },
  transport: 'websocket',
  origin: 'https://app.example.com',
};

/** Each reason to refuse a session, in the order of the contract, with the change that causes it. */
const REASONS: readonly (readonly [code: string, change: Partial<Opening>])[] = [
  ['realtime_disabled', { isOffered: false }],
  ['invalid_client_secret', { credential: { kind: 'secret', restrictions: null } }],
  ['transport_not_allowed', { transport: 'webrtc' }],
  ['origin_not_allowed', { origin: 'https://evil.example' }],
];

describe('refusalOfOpening', () => {
  it('refuses nothing that the secret allows', () => {
    expect(refusalOfOpening(GOOD)).to.equal(null);
    const open = { kind: 'secret', restrictions: { allowedOrigins: [], transports: [] } } as const;
    expect(refusalOfOpening({ ...GOOD, credential: open, transport: 'webrtc', origin: null })).to.equal(null);
    expect(refusalOfOpening({ ...GOOD, credential: { kind: 'key' }, origin: null })).to.equal(null);
  });

  it('names the first reason in the order of the contract, whatever else is wrong', () => {
    for (const [first, [code]] of REASONS.entries()) {
      for (let last = first; last < REASONS.length; last += 1) {
        const changes = REASONS.slice(first, last + 1).toReversed();
        const opening = changes.reduce<Opening>((given, [, change]) => ({ ...given, ...change }), GOOD);
        expect(refusalOfOpening(opening)?.code, `${first} to ${last}`).to.equal(code);
      }
    }
  });

  it('asks for a credential, and refuses an API key of a browser', () => {
    expect(refusalOfOpening({ ...GOOD, credential: { kind: 'none' } })?.code).to.equal('missing_api_key');
    expect(refusalOfOpening({ ...GOOD, credential: { kind: 'key' } })?.code).to.equal('origin_not_allowed');
  });
});

describe('normalizeOrigin', () => {
  it('writes an origin as browsers do, and nothing else', () => {
    const origins: readonly (readonly [text: string, origin: string | null])[] = [
      ['https://App.Example.com', 'https://app.example.com'],
      ['https://app.example.com:443', 'https://app.example.com'],
      ['http://localhost:3000', 'http://localhost:3000'],
      ['http://[::1]:8080', 'http://[::1]:8080'],
      ['null', null],
      ['*', null],
      ['app.example.com', null],
      ['https://app.example.com/', null],
      ['https://user@app.example.com', null],
      ['file://app', null],
      ['https://*.example.com', null],
      ['', null],
    ];
    for (const [text, origin] of origins) expect(normalizeOrigin(text), text).to.equal(origin);
  });
});
