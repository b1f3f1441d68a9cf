/**
 * A very small H.264 encoder (Constrained Baseline, CAVLC) for pictures made of flat tiles, one for each macroblock of 16 × 16
 * pixels. A tile is coded as the difference from the tile to its left (from the one above in the first column): a single DC
 * coefficient for each changed component. Tiles that did not change since the picture before are skipped.
 *
 * Section and table numbers are those of ITU-T H.264 (08/2021).
 */
import { BitWriter } from './bits.ts';

/** The colour of one tile. The chroma components are even numbers: see {@link QUANTISER}. */
export interface Colour {
  readonly luma: number;
  readonly blueDifference: number;
  readonly redDifference: number;
}

/** A tile's place, counted in tiles from the top left. */
export interface TilePosition {
  readonly column: number;
  readonly row: number;
}

export type Picture = (position: TilePosition) => Colour;

export interface FrameSize {
  /** Pixels; even, because chroma has half the resolution. */
  readonly width: number;
  readonly height: number;
}

const TILE_PIXELS = 16;

const UNIT = { picture: 1, keyPicture: 5, sequenceParameters: 7, pictureParameters: 8 } as const;
const REFERENCE_PRIORITY = 3;
const PROFILE_BASELINE = 66;
/** constraint_set0 and constraint_set1: the stream also conforms to the Main profile, as Constrained Baseline does. */
const CONSTRAINTS = 0b1100_0000;
/** Level 4: up to 8,192 macroblocks, enough for 1920 × 1088. */
const LEVEL = 40;
const FRAME_NUMBER_BITS = 4;
/** With this quantiser a DC level of 1 is exactly one step of luma or two steps of chroma (section 8.5). */
const QUANTISER = 28;
const DEFAULT_QUANTISER = 26;
const CHROMA_STEP = 2;
const MID_GREY: Colour = { luma: 128, blueDifference: 128, redDifference: 128 };
const ESCAPE_BITS = 12;

/** The number of tiles in each direction of a frame; the last ones may stick out and are cropped. */
export function tilesOf(size: FrameSize): { readonly columns: number; readonly rows: number } {
  return { columns: Math.ceil(size.width / TILE_PIXELS), rows: Math.ceil(size.height / TILE_PIXELS) };
}

/** The sequence parameter set (section 7.3.2.1) as a unit without length or start code. */
export function sequenceParameters(size: FrameSize): Uint8Array {
  const { columns, rows } = tilesOf(size);
  const croppedRight = (columns * TILE_PIXELS - size.width) / 2;
  const croppedBottom = (rows * TILE_PIXELS - size.height) / 2;
  const bits = new BitWriter();
  bits.unsigned(PROFILE_BASELINE, 8).unsigned(CONSTRAINTS, 8).unsigned(LEVEL, 8);
  bits.exponentialGolomb(0); // seq_parameter_set_id
  bits.exponentialGolomb(FRAME_NUMBER_BITS - 4);
  bits.exponentialGolomb(2); // pic_order_cnt_type: pictures are shown in the order they are decoded
  bits.exponentialGolomb(1); // max_num_ref_frames
  bits.unsigned(0, 1); // gaps_in_frame_num_value_allowed_flag
  bits.exponentialGolomb(columns - 1).exponentialGolomb(rows - 1);
  bits.unsigned(1, 1); // frame_mbs_only_flag
  bits.unsigned(1, 1); // direct_8x8_inference_flag
  if (croppedRight === 0 && croppedBottom === 0) bits.unsigned(0, 1);
  else {
    bits.unsigned(1, 1).exponentialGolomb(0).exponentialGolomb(croppedRight);
    bits.exponentialGolomb(0).exponentialGolomb(croppedBottom);
  }
  bits.unsigned(0, 1); // vui_parameters_present_flag
  return unit(UNIT.sequenceParameters, bits.finish());
}

/** The picture parameter set (section 7.3.2.2) as a unit without length or start code. */
export function pictureParameters(): Uint8Array {
  const bits = new BitWriter();
  bits.exponentialGolomb(0).exponentialGolomb(0); // pic_parameter_set_id, seq_parameter_set_id
  bits.unsigned(0, 1); // entropy_coding_mode_flag: CAVLC
  bits.unsigned(0, 1); // bottom_field_pic_order_in_frame_present_flag
  bits.exponentialGolomb(0); // num_slice_groups_minus1
  bits.exponentialGolomb(0).exponentialGolomb(0); // one reference picture
  bits.unsigned(0, 1).unsigned(0, 2); // no weighted prediction
  bits.signedExponentialGolomb(QUANTISER - DEFAULT_QUANTISER);
  bits.signedExponentialGolomb(0); // pic_init_qs_minus26
  bits.signedExponentialGolomb(0); // chroma_qp_index_offset
  bits.unsigned(1, 1); // deblocking_filter_control_present_flag
  bits.unsigned(0, 1); // constrained_intra_pred_flag
  bits.unsigned(0, 1); // redundant_pic_cnt_present_flag
  return unit(UNIT.pictureParameters, bits.finish());
}

/** A picture that needs no other: an IDR access unit of one slice that codes every tile. */
export function keyPicture(size: FrameSize, picture: Picture): Uint8Array {
  const { columns, rows } = tilesOf(size);
  const bits = new BitWriter();
  bits.exponentialGolomb(0).exponentialGolomb(7).exponentialGolomb(0); // first macroblock, an I slice, parameter set
  bits.unsigned(0, FRAME_NUMBER_BITS);
  bits.exponentialGolomb(0); // idr_pic_id
  bits.unsigned(0, 2); // no_output_of_prior_pics_flag, long_term_reference_flag
  writeSliceTail(bits);
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) writeTile(bits, { column, row }, picture, 0);
  }
  return unit(UNIT.keyPicture, bits.finish());
}

/**
 * A picture that differs from the one before in some tiles only.
 *
 * @param number the number of pictures since the key picture, from 1
 * @param changed the places to code anew, in raster order: row by row, each from left to right
 */
export function changedPicture(
  size: FrameSize,
  picture: Picture,
  number: number,
  changed: readonly TilePosition[],
): Uint8Array {
  const { columns, rows } = tilesOf(size);
  const bits = new BitWriter();
  bits.exponentialGolomb(0).exponentialGolomb(5).exponentialGolomb(0); // first macroblock, a P slice, parameter set
  bits.unsigned(number % 2 ** FRAME_NUMBER_BITS, FRAME_NUMBER_BITS);
  bits.unsigned(0, 1); // num_ref_idx_active_override_flag
  bits.unsigned(0, 1); // ref_pic_list_modification_flag_l0
  bits.unsigned(0, 1); // adaptive_ref_pic_marking_mode_flag
  writeSliceTail(bits);
  let next = 0;
  for (const position of changed) {
    const address = position.row * columns + position.column;
    bits.exponentialGolomb(address - next); // mb_skip_run
    writeTile(bits, position, picture, 5); // the types of I slices follow the five of P slices (table 7-13)
    next = address + 1;
  }
  if (next < columns * rows) bits.exponentialGolomb(columns * rows - next);
  return unit(UNIT.picture, bits.finish());
}

/** The end that both slice headers share: no other quantiser, no deblocking (it would blur the tiles). */
function writeSliceTail(bits: BitWriter): void {
  bits.signedExponentialGolomb(0); // slice_qp_delta
  bits.exponentialGolomb(1); // disable_deblocking_filter_idc
}

/** The prediction of a tile from a neighbour: `Intra16x16PredMode`, `intra_chroma_pred_mode`, and the values. */
interface Prediction {
  readonly lumaMode: number;
  readonly chromaMode: number;
  readonly colour: Colour;
}

function predict({ column, row }: TilePosition, picture: Picture): Prediction {
  if (column > 0) return { lumaMode: 1, chromaMode: 1, colour: picture({ column: column - 1, row }) };
  if (row > 0) return { lumaMode: 0, chromaMode: 2, colour: picture({ column, row: row - 1 }) };
  return { lumaMode: 2, chromaMode: 0, colour: MID_GREY };
}

/** One Intra_16x16 macroblock (section 7.3.5) that has at most the DC coefficients. */
function writeTile(bits: BitWriter, position: TilePosition, picture: Picture, typeOffset: number): void {
  const prediction = predict(position, picture);
  const colour = picture(position);
  const blue = (colour.blueDifference - prediction.colour.blueDifference) / CHROMA_STEP;
  const red = (colour.redDifference - prediction.colour.redDifference) / CHROMA_STEP;
  const hasChroma = blue !== 0 || red !== 0;
  bits.exponentialGolomb(typeOffset + 1 + prediction.lumaMode + (hasChroma ? 4 : 0)); // mb_type (table 7-11)
  bits.exponentialGolomb(prediction.chromaMode);
  bits.signedExponentialGolomb(0); // mb_qp_delta
  writeDirectCurrent(bits, colour.luma - prediction.colour.luma, LUMA_TOKENS);
  if (!hasChroma) return;
  writeDirectCurrent(bits, blue, CHROMA_TOKENS);
  writeDirectCurrent(bits, red, CHROMA_TOKENS);
}

/** The `coeff_token` words of table 9-5 for no coefficient, a single ±1, and a single larger one. */
interface Tokens {
  readonly none: string;
  readonly one: string;
  readonly larger: string;
}

const LUMA_TOKENS: Tokens = { none: '1', one: '01', larger: '000101' };
const CHROMA_TOKENS: Tokens = { none: '01', one: '1', larger: '000111' };
const NO_ZEROS_BEFORE = '1';

/** A block whose only coefficient is the first (section 9.2). */
function writeDirectCurrent(bits: BitWriter, level: number, tokens: Tokens): void {
  if (level === 0) {
    bits.code(tokens.none);
    return;
  }
  if (Math.abs(level) === 1) bits.code(tokens.one).unsigned(level < 0 ? 1 : 0, 1);
  else {
    bits.code(tokens.larger);
    writeLevel(bits, level);
  }
  bits.code(NO_ZEROS_BEFORE);
}

/** A level of magnitude 2 or more that no other precedes (section 9.2.2.1 with suffixLength 0). */
function writeLevel(bits: BitWriter, level: number): void {
  const code = level > 0 ? 2 * level - 4 : -2 * level - 3;
  if (code < 14) bits.unsigned(1, code + 1);
  else if (code < 30) bits.unsigned(1, 15).unsigned(code - 14, 4);
  else bits.unsigned(1, 16).unsigned(code - 30, ESCAPE_BITS);
}

/** Wraps a payload as a unit: one byte of header, and a 3 wherever the payload would look like a start code (section 7.4.1). */
function unit(type: number, payload: Uint8Array): Uint8Array {
  const bytes = [(REFERENCE_PRIORITY << 5) | type];
  let zeros = 0;
  for (const byte of payload) {
    if (zeros === 2 && byte <= 3) {
      bytes.push(3);
      zeros = 0;
    }
    bytes.push(byte);
    zeros = byte === 0 ? zeros + 1 : 0;
  }
  return Uint8Array.from(bytes);
}
