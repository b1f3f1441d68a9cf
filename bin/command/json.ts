/** Answers of the API as JSON has them. */
export type Json = null | boolean | number | string | readonly Json[] | Fields;

/** The object of an answer, field by field. */
export type Fields = { readonly [name: string]: Json };
