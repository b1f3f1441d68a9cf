/** Reads what the processes of a stack and the simulator answer. */
import Joi from 'joi';

const STRICTLY = { presence: 'required', convert: false } as const;

type Fields<Data> = Readonly<Record<keyof Data, Joi.Schema>>;

/**
 * Makes a reader of answers such as `{"data": {…}}`, which throws for others.
 *
 * @param fields that the data has, beside any others
 */
export function dataReader<Data extends object>(fields: Fields<Data>): (text: string) => Data {
  const schema = Joi.object<{ data: Data }>({ data: Joi.object(fields).unknown(true) }).unknown(true);
  return (text) => Joi.attempt(JSON.parse(text), schema, STRICTLY).data;
}

/** As {@link dataReader}, of answers such as `{"data": [{…}, …]}`. */
export function listReader<Item extends object>(fields: Fields<Item>): (text: string) => readonly Item[] {
  const data = Joi.array().items(Joi.object(fields).unknown(true));
  const schema = Joi.object<{ data: Item[] }>({ data }).unknown(true);
  return (text) => Joi.attempt(JSON.parse(text), schema, STRICTLY).data;
}
