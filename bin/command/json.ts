/** A JSON value in an answer of the API. */
export type Json = null | boolean | number | string | readonly Json[] | Fields;

/** A JSON object in an answer. */
export type Fields = { readonly [name: string]: Json };
