/** Shared by every program: its settings, and the report of working features. */
export const { BASE_URL = '', API_URL = '', API_KEY = '', MODEL = '' } = process.env;
export const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkZPhfDwAEAAIBdDoGOAAAAABJRU5ErkJggg==';
export const SAY = 'Say exactly: lighthouse';
export const CALL = 'Call look with {"city": "Oslo"}';
export const SCHEMA = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
};
const worked = [];

export function look({ city }) {
  return `rain in ${city}`;
}

/** Reports a feature as working if its text has a part. */
export function expect(feature, text, part) {
  if (!String(text).includes(part)) throw new Error(`${feature}: "${part}" is not in "${text}"`);
  worked.push(feature);
}

export function report() {
  console.log(worked.join(', '));
}
