/**
 * Ids. Each has a prefix for the kind of thing, and 32 letters and digits: ten that encode the creation time in
 * milliseconds, and 22 random ones. Ids therefore sort by age, and the database finds a row in a table that is
 * partitioned by time without searching every partition.
 */

const ALPHABET = '0123456789abcdefghijklmnopqrstuvwxyz';
const TIME_LENGTH = 10;
const RANDOM_LENGTH = 22;
/** Digits and small letters. */
const ID_RADIX = 36;
const BODY_PATTERN = /^[0-9a-z]{32}$/;

/** The prefix for each kind of thing. */
export const ID_PREFIX = {
  account: 'acc_',
  apiKey: 'key_',
  task: 'task_',
  transfer: 'tr_',
  request: 'req_',
  textRequest: 'txt_',
  webhookEndpoint: 'we_',
  event: 'evt_',
  delivery: 'del_',
  file: 'file_',
  reconciliation: 'rec_',
  operatorAction: 'act_',
  correction: 'cor_',
  accountMerge: 'mrg_',
  adminToken: 'adm_',
  user: 'usr_',
  adminAction: 'adc_',
  promoGrant: 'prm_',
  acknowledgement: 'ack_',
  allowance: 'alw_',
  budget: 'bud_',
  endUserBudget: 'eub_',
  billingDocument: 'doc_',
  form: 'form_',
  realtimeSecret: 'rts_',
  realtimeSession: 'sess_',
  realtimeEvent: 'event_',
  batch: 'batch_',
  realtimeCall: 'rtc_',
  mail: 'mail_',
  registration: 'reg_',
  giftBatch: 'gib_',
  giftCode: 'gift_',
  registrationBlock: 'blk_',
} as const;

export type IdKind = keyof typeof ID_PREFIX;

/** The encoded time of the last id: a busy process makes several ids in a millisecond. */
let latestMs = -1;
let latestTime = '';

/**
 * Makes a new id.
 *
 * @param nowMs the creation time, in milliseconds since 1970; {@link createdAtMsOf} reads it back
 */
export function newId(kind: IdKind, nowMs: number = Date.now()): string {
  return firstIdAt(kind, nowMs) + randomLetters(RANDOM_LENGTH);
}

/** Returns a text that sorts before every id of the kind that is made at `nowMs` or later, and after all older ids. */
export function firstIdAt(kind: IdKind, nowMs: number): string {
  const wholeMs = Math.trunc(nowMs);
  if (wholeMs !== latestMs) {
    latestMs = wholeMs;
    latestTime = wholeMs.toString(ID_RADIX).padStart(TIME_LENGTH, '0');
  }
  return ID_PREFIX[kind] + latestTime;
}

/**
 * Returns the id of an object of a kind that something with an id creates, such as the transfer of a form.
 *
 * @param variant distinguishes the objects of the kind that it creates, from 0 to 35
 */
export function derivedId(kind: IdKind, id: string, variant = 0): string {
  const start = id.slice(-TIME_LENGTH - RANDOM_LENGTH, -1);
  const last = (Number.parseInt(id.slice(-1), ID_RADIX) + variant) % ID_RADIX;
  return ID_PREFIX[kind] + start + last.toString(ID_RADIX);
}

/** Whether `value` has the form of an id of the kind. There may be no such thing. */
export function isId(kind: IdKind, value: string): boolean {
  const prefix = ID_PREFIX[kind];
  return value.startsWith(prefix) && BODY_PATTERN.test(value.slice(prefix.length));
}

/**
 * Reads the creation time of an id, in milliseconds since 1970.
 *
 * @throws RangeError if `id` is not an id of the kind
 */
export function createdAtMsOf(kind: IdKind, id: string): number {
  if (!isId(kind, id)) throw new RangeError(`not an id of kind ${kind}: ${id}`);
  const prefix = ID_PREFIX[kind];
  return Number.parseInt(id.slice(prefix.length, prefix.length + TIME_LENGTH), 36);
}

/** Random letters for many ids: generating them for each id would cost more than the rest of the id. */
let randomStock = '';
let usedLetters = 0;
const STOCK_BYTES = 4096;
/** Random bytes from this value on are discarded, so that all letters are equally likely. */
const DISCARDED_FROM = 256 - (256 % ALPHABET.length);
/** `length` random letters and digits from a cryptographic source, without modulo bias. */
export function randomLetters(length: number): string {
  while (randomStock.length - usedLetters < length) {
    randomStock = randomStock.slice(usedLetters) + drawLetters();
    usedLetters = 0;
  }
  usedLetters += length;
  return randomStock.slice(usedLetters - length, usedLetters);
}

/** Up to {@link STOCK_BYTES} letters. */
function drawLetters(): string {
  const codes = new Uint8Array(STOCK_BYTES);
  let count = 0;
  for (const byte of crypto.getRandomValues(new Uint8Array(STOCK_BYTES))) {
    if (byte < DISCARDED_FROM) codes[count++] = ALPHABET.charCodeAt(byte % ALPHABET.length);
  }
  return new TextDecoder().decode(codes.subarray(0, count));
}
