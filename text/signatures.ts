/**
 * Signatures: opaque text that a model expects back with its reasoning or its calls, and that other vendors refuse.
 * Clients get each signature with the mark of its origin in front, and an upstream gets back only those with its own mark.
 */
import { digestOf } from '../domain/digest.ts';
import type { JsonObject } from '../domain/json.ts';
import type { StreamEvent, TextRequest, Turn } from './canonical.ts';
import { compact } from './read.ts';
import type { Stage } from './stage.ts';

/** The signatures of one origin. */
export interface Signatures {
  /** The signature as clients get it. */
  readonly mark: (signature: string) => string;
  /** The signature as its origin made it; undefined for one of another origin, and for an empty one. */
  readonly own: (signature: string | undefined) => string | undefined;
}

/** Marks have a whole number of base64 digits, because some clients decode signatures. */
const MARK_START = 'gw';
const DIGITS = 14;

const UNMARKED: Signatures = { mark: (signature) => signature, own: (signature) => signature || undefined };
/** Bounded by the upstreams of the operator's file. Every request needs those of its origin. */
const byOrigin = new Map<string, Signatures>();

/** @param origin the vendor and the format; without one, signatures have no marks */
export function signaturesOf(origin: string | undefined): Signatures {
  if (origin === undefined) return UNMARKED;
  const signatures = byOrigin.get(origin) ?? createSignatures(MARK_START + digestOf(origin).slice(0, DIGITS));
  byOrigin.set(origin, signatures);
  return signatures;
}

function createSignatures(mark: string): Signatures {
  return {
    mark: (signature) => (signature === '' ? '' : mark + signature),
    own: (signature = '') => (signature.startsWith(mark) ? signature.slice(mark.length) || undefined : undefined),
  };
}

/** The request with the signatures of this origin only. */
export function withOwnSignatures(request: TextRequest, { own }: Signatures): TextRequest {
  const turns = request.turns.map((turn): Turn => {
    if (turn.role !== 'assistant' || !turn.parts.some((part) => 'signature' in part)) return turn;
    const parts = turn.parts.map((part) =>
      'signature' in part ? compact({ ...part, signature: own(part.signature) }) : part,
    );
    return { ...turn, parts };
  });
  return { ...request, turns };
}

/**
 * The stage that marks the signatures of an answer. A signature of a call also becomes one of reasoning, which most
 * clients send back, where their format has no field for it beside the call.
 */
export function markSignatures({ mark }: Signatures, hasCallSignatures: boolean): Stage<StreamEvent, StreamEvent> {
  let count = 0;
  return {
    push: (event, emit) => {
      if (!('signature' in event) || event.signature === undefined) return emit(event);
      const signature = mark(event.signature);
      if (event.type === 'tool-input-start' && !hasCallSignatures) {
        const id = `call-signature-${count}`;
        count += 1;
        emit({ type: 'reasoning-start', id, choice: event.choice });
        emit({ type: 'reasoning-end', id, signature, redacted: true });
      }
      emit({ ...event, signature });
    },
    end: () => {},
  };
}

/** Replaces a signature; undefined if there is to be none. */
export type ReplaceSignature = (signature: string) => string | undefined;

/** Where the bodies of a format have signatures. Unchanged parts stay the same objects. */
export interface SignaturePlaces {
  /** Matches the data of every event with a signature. */
  readonly trait: RegExp;
  /** A request without what is void without its signature. */
  inRequest(body: JsonObject, replace: ReplaceSignature): JsonObject;
  /** An answer, or an event of one. */
  inAnswer(answer: JsonObject, replace: ReplaceSignature): JsonObject;
}

/** The object with a text replaced; null if there is to be none. A field that is not a text stays. */
export function replaceText(holder: JsonObject, field: string, replace: ReplaceSignature): JsonObject | null {
  const { [field]: text } = holder;
  if (typeof text !== 'string') return holder;
  const replaced = replace(text);
  if (replaced === undefined) return null;
  return replaced === text ? holder : { ...holder, [field]: replaced };
}
