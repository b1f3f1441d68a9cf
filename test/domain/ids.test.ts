import { expect } from 'chai';
import * as fc from 'fast-check';
import { ID_PREFIX, type IdKind, createdAtMsOf, derivedId, isId, newId, randomLetters } from '../../domain/ids.ts';

const kinds: readonly IdKind[] = Object.keys(ID_PREFIX).filter((kind): kind is IdKind => kind in ID_PREFIX);
const kind = fc.constantFrom(...kinds);
const momentMs = fc.integer({ min: 0, max: Date.UTC(2080, 0, 1) });

describe('ids', () => {
  it('start with task_ for tasks, followed by 32 letters and digits', () => {
    // contract 2:3 2.1:1
    expect(newId('task')).to.match(/^task_[0-9a-z]{32}$/);
  });

  it('have a prefix for each kind of resource', () => {
    // contract 2:3
    expect(new Set(Object.values(ID_PREFIX)).size).to.equal(kinds.length);
  });

  it('carry the time of creation', () => {
    fc.assert(
      fc.property(kind, momentMs, (kind, nowMs) => {
        expect(createdAtMsOf(kind, newId(kind, nowMs))).to.equal(nowMs);
      }),
    );
  });

  it('sort by age', () => {
    fc.assert(
      fc.property(kind, momentMs, fc.integer({ min: 1, max: 1_000_000_000 }), (kind, nowMs, laterMs) => {
        expect(newId(kind, nowMs) < newId(kind, nowMs + laterMs)).to.equal(true);
      }),
    );
  });

  it('differ by their variant for objects that the same thing creates', () => {
    fc.assert(
      fc.property(momentMs, (nowMs) => {
        const batchId = newId('batch', nowMs);
        const ids = Array.from({ length: 36 }, (_, variant) => derivedId('file', batchId, variant));
        expect(new Set(ids).size).to.equal(36);
        expect(ids.every((id) => isId('file', id))).to.equal(true);
        expect(derivedId('file', batchId)).to.equal(ids[0]);
      }),
    );
  });

  it('belong to one kind only', () => {
    fc.assert(
      fc.property(kind, kind, (made, asked) => {
        expect(isId(asked, newId(made))).to.equal(asked === made);
      }),
    );
  });

  it('do not repeat within one millisecond', () => {
    const ids = Array.from({ length: 1_000 }, () => newId('transfer', 0));
    expect(new Set(ids).size).to.equal(ids.length);
  });

  it('do not match text of another form', () => {
    const body = 'a'.repeat(32);
    for (const text of [
      '',
      'task_',
      body,
      `task_${body}a`,
      `task_${body.slice(1)}`,
      `task_${'A'.repeat(32)}`,
      `xtask_${body}`,
    ]) {
      expect(isId('task', text), text).to.equal(false);
      expect(() => createdAtMsOf('task', text)).to.throw(RangeError);
    }
  });

  it('refuse foreign text without another error', () => {
    fc.assert(
      fc.property(kind, fc.string({ unit: 'binary' }), (kind, text) => {
        expect(isId(kind, text)).to.equal(false);
      }),
    );
  });

  it('have the requested number of random characters, of every letter and digit', () => {
    const letters = randomLetters(10_000);
    expect(letters).to.match(/^[0-9a-z]{10000}$/);
    expect(new Set(letters).size).to.equal(36);
    expect(randomLetters(0)).to.equal('');
  });
});
