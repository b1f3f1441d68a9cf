/**
 * Passes an upstream's embeddings on, vector by vector. An answer may have a hundred megabytes, so the
 * reader holds one vector at a time, and changes a vector only if the client wants another encoding. The other fields are
 * read at the end, and written anew.
 */
import { countOf, isObject, type JsonObject, objectOf } from '../../domain/json.ts';
import { type EmbeddingsOptions, UNREPORTED_USAGE } from '../canonical.ts';
import { throwIfError } from '../chat-completions/upstream.ts';
import type { Frame } from '../frames.ts';
import type { Meter } from '../meter.ts';
import { cutShort } from '../normalize.ts';
import type { Emit, Stage } from '../stage.ts';
import { malformedAnswer } from '../upstream-errors.ts';
import { readUsage } from '../usage.ts';

export interface VectorOptions extends Pick<EmbeddingsOptions, 'inputCount' | 'encoding' | 'shape'> {
  /** The client's name for the model. */
  readonly model: string;
  readonly meter: Meter;
}

/** The stage from an answer's bytes, in any pieces, to those for the client. */
export function streamVectors(options: VectorOptions): Stage<Pick<Frame, 'bytes'>, Uint8Array> {
  return new Vectors(options);
}

/** A vector of the most dimensions that can be asked for. */
const MAX_VECTOR_BYTES = 2 * 2 ** 20;
/** Everything but the vectors, which includes the only vector of Vertex's `embedContent`. */
const MAX_REST_BYTES = MAX_VECTOR_BYTES;

const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_ARRAY = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const SPACE = 0x20;

/** How deep the list of vectors is. */
const LIST_DEPTH = 2;
/** How answers begin. */
const BEGINNINGS: Readonly<Record<EmbeddingsOptions['shape'], string>> = {
  list: '{"object":"list","data":[',
  embedding: '{"embedding":',
  embeddings: '{"embeddings":[',
};
/** How Google's answers end. */
const NATIVE_ENDS = { embedding: '}', embeddings: ']}' } as const;

/** `predictions` of Vertex. */
const BEFORE_LIST = /"(data|predictions)"\s*:\s*\[$/;
/** As much as the beginning of the list may need. */
const TAIL_LENGTH = 64;

class Vectors implements Stage<Pick<Frame, 'bytes'>, Uint8Array> {
  readonly #options: VectorOptions;
  #place: 'rest' | 'list' | 'vector' = 'rest';
  #depth = 0;
  #isText = false;
  #isEscaped = false;
  #count = 0;
  #isOfVertex = false;
  /** The tokens of the vectors, which Vertex counts one by one. */
  #tokenCount = 0;
  /** The document without the vectors. */
  readonly #rest = new Pieces(MAX_REST_BYTES);
  #tail = '';
  readonly #vector = new Pieces(MAX_VECTOR_BYTES);

  constructor(options: VectorOptions) {
    this.#options = options;
  }

  push({ bytes }: Pick<Frame, 'bytes'>, emit: Emit<Uint8Array>): void {
    for (let at = 0; at < bytes.length;) {
      if (this.#place === 'list') at = this.#takeBetween(bytes, at);
      else {
        const end = this.#endOfPlace(bytes, at);
        this.#keep(bytes.subarray(at, end), emit);
        at = end;
      }
    }
  }

  end(emit: Emit<Uint8Array>): void {
    const { inputCount, model, meter, shape } = this.#options;
    if (this.#depth > 0) throw cutShort();
    const answer = parseObject(this.#rest.take());
    throwIfError(answer);
    const { values } = objectOf(answer['embedding']);
    if (this.#count === 0 && values !== undefined) this.#pass(usualForm(values, 0), emit);
    if (this.#count !== inputCount) throw malformedAnswer();
    const usage = objectOf(answer['usage']);
    // Some vendors report only the total.
    const native = countOf(objectOf(answer['usageMetadata'])['promptTokenCount']);
    const inputTotal = readUsage(usage).inputTotal || countOf(usage['total_tokens']) || native || this.#tokenCount;
    if (inputTotal) meter.see({ type: 'usage', usage: { ...UNREPORTED_USAGE, inputTotal, outputTotal: 0 } });
    meter.see({ type: 'finish', reason: 'stop' });
    const charged = meter.charged().inputTotal ?? 0;
    const end = { model, usage: { prompt_tokens: charged, total_tokens: charged } };
    emit(Buffer.from(shape === 'list' ? `],${JSON.stringify(end).slice(1)}` : NATIVE_ENDS[shape]));
  }

  /** Takes a byte between vectors. @returns where what follows it begins */
  #takeBetween(bytes: Buffer, at: number): number {
    const byte = bytes[at] ?? SPACE;
    if (byte === OPEN_OBJECT) {
      this.#place = 'vector';
      return at;
    }
    if (byte === CLOSE_ARRAY) {
      this.#place = 'rest';
      return at;
    }
    if (byte > SPACE && byte !== COMMA) throw malformedAnswer();
    return at + 1;
  }

  /** Where the current place may end: after the bracket that opens a list, or closes a vector. */
  #endOfPlace(bytes: Buffer, from: number): number {
    for (let at = from; at < bytes.length; at += 1) {
      const byte = bytes[at];
      if (this.#isText) this.#takeOfText(byte);
      else if (byte === QUOTE) this.#isText = true;
      else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
        this.#depth += 1;
        if (byte === OPEN_ARRAY && this.#depth === LIST_DEPTH) return at + 1;
      } else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
        this.#depth -= 1;
        if (this.#place === 'vector' && this.#depth === LIST_DEPTH) return at + 1;
      }
    }
    return bytes.length;
  }

  #takeOfText(byte: number | undefined): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (byte === BACKSLASH) this.#isEscaped = true;
    else if (byte === QUOTE) this.#isText = false;
  }

  #keep(bytes: Buffer, emit: Emit<Uint8Array>): void {
    if (this.#place === 'rest') {
      this.#rest.add(bytes);
      this.#tail = (this.#tail + bytes.subarray(-TAIL_LENGTH).toString('latin1')).slice(-TAIL_LENGTH);
      const list = this.#depth === LIST_DEPTH && !this.#isText ? BEFORE_LIST.exec(this.#tail) : null;
      if (list === null) return;
      this.#place = 'list';
      this.#isOfVertex = list[1] === 'predictions';
      return;
    }
    this.#vector.add(bytes);
    if (this.#depth !== LIST_DEPTH) return;
    this.#place = 'list';
    this.#pass(this.#isOfVertex ? this.#takePrediction() : this.#vector.take(), emit);
  }

  /** Vertex's form of a vector in the usual form. */
  #takePrediction(): Buffer {
    const { values, statistics } = objectOf(parseObject(this.#vector.take())['embeddings']);
    this.#tokenCount += countOf(objectOf(statistics)['token_count']) ?? 0;
    return usualForm(values, this.#count);
  }

  #pass(vector: Buffer, emit: Emit<Uint8Array>): void {
    const { inputCount, encoding, meter, shape } = this.#options;
    this.#count += 1;
    if (this.#count > inputCount) throw malformedAnswer();
    const encoded = shape === 'list' ? inEncoding(vector, encoding) : inNativeShape(vector, this.#count - 1);
    emit(Buffer.from(this.#count === 1 ? BEGINNINGS[shape] : ','));
    emit(encoded);
    meter.heard = true;
    meter.hasStarted = true;
  }
}

function usualForm(values: unknown, index: number): Buffer {
  return Buffer.from(JSON.stringify({ object: 'embedding', index, embedding: values }));
}

/** Bytes that arrive in pieces. */
class Pieces {
  readonly #maxBytes: number;
  #pieces: Buffer[] = [];
  #length = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** @throws ServiceError `processing_failed` if there are too many */
  add(bytes: Buffer): void {
    this.#length += bytes.length;
    if (this.#length > this.#maxBytes) throw malformedAnswer();
    this.#pieces.push(bytes);
  }

  /** All of them, which it then forgets. */
  take(): Buffer {
    const whole = Buffer.concat(this.#pieces);
    this.#pieces = [];
    this.#length = 0;
    return whole;
  }
}

const EMBEDDING = /"embedding"\s*:\s*(["[])/;

/** A vector's object in the encoding: as it is where the upstream knows the encoding. */
function inEncoding(vector: Buffer, encoding: EmbeddingsOptions['encoding']): Uint8Array {
  const [, start] = EMBEDDING.exec(vector.toString('latin1')) ?? [];
  if (start === undefined) throw malformedAnswer();
  if (start === (encoding === 'float' ? '[' : '"')) return vector;
  const object = parseObject(vector);
  const embedding = encoding === 'float' ? floatsOf(object['embedding']) : base64Of(object['embedding']);
  return Buffer.from(JSON.stringify({ ...object, embedding }));
}

/** A vector as in Google's answers, which have no index: vectors must arrive in order. */
function inNativeShape(vector: Buffer, place: number): Uint8Array {
  const { embedding, index = place } = parseObject(vector);
  if (index !== place) throw malformedAnswer();
  const values = Array.isArray(embedding) ? embedding : floatsOf(embedding);
  if (!values.every(Number.isFinite)) throw malformedAnswer();
  return Buffer.from(JSON.stringify({ values }));
}

function floatsOf(embedding: unknown): readonly number[] {
  const bytes = Uint8Array.from(Buffer.from(String(embedding), 'base64'));
  const { BYTES_PER_ELEMENT: size } = Float32Array;
  const floats = bytes.length % size === 0 ? [...new Float32Array(bytes.buffer)] : [];
  if (floats.length === 0 || !floats.every(Number.isFinite)) throw malformedAnswer();
  return floats;
}

function base64Of(embedding: unknown): string {
  if (!Array.isArray(embedding) || !embedding.every(Number.isFinite)) throw malformedAnswer();
  return Buffer.from(Float32Array.from(embedding).buffer).toString('base64');
}

/** Skips a byte order mark. */
const decoder = new TextDecoder();

function parseObject(bytes: Buffer): JsonObject {
  try {
    const value: unknown = JSON.parse(decoder.decode(bytes));
    if (isObject(value)) return value;
  } catch (error) {
    throw malformedAnswer(error);
  }
  throw malformedAnswer();
}
