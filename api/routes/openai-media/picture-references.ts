/** Pictures that JSON bodies of OpenAI's media endpoints name: by a public link, or by the id of an upload. */
import Joi from 'joi';
import { retryOnLostConnection } from '../../../db/connections.ts';
import type { Caller } from '../../../db/queries/api-keys.ts';
import { findUpload } from '../../../db/queries/uploads.ts';
import { badRequest, ServiceError } from '../../../domain/errors.ts';
import type { JsonObject } from '../../../domain/json.ts';
import type { ApiServices } from '../../services.ts';

export interface PictureReference {
  readonly image_url?: string;
  readonly file_id?: string;
}

const REFUSAL = '{{#label}} must have either "image_url" or "file_id"';

export const PICTURE_REFERENCE = Joi.alternatives(
  Joi.object({ image_url: Joi.string().required().description('The public link to the picture') }),
  Joi.object({ file_id: Joi.string().required().description('The id of an uploaded picture') }),
).messages({ 'alternatives.match': REFUSAL, 'alternatives.types': REFUSAL, 'alternatives.any': REFUSAL });

/** The pictures of a request, in the order in which its model gets them. */
export interface RequestPictures {
  /**
   * The order of a task with the links to the pictures, if there are any.
   *
   * @throws ServiceError `bad_request` if the account has no upload with one of the ids, or for a data URL
   */
  addTo(order: JsonObject): JsonObject;
  /** The names of the pictures in the body, by their names in {@link namedAsSent}'s errors. */
  readonly names: Readonly<Record<string, string>>;
}

/**
 * Finds the pictures that a body names.
 *
 * @param uploaded the links to the pictures in a form, which come first
 * @param references the other pictures, by the names of their fields
 */
export async function findPictures(
  uploaded: readonly string[],
  references: Readonly<Record<string, PictureReference>>,
  { account }: Caller,
  { database, storage }: Pick<ApiServices, 'database' | 'storage'>,
): Promise<RequestPictures> {
  const found = Object.entries(references).map(async ([name, { image_url: url, file_id: id = '' }]) => {
    if (url !== undefined) return { name: `${name}.image_url`, url };
    const upload = await retryOnLostConnection(() => findUpload(database, account.id, id));
    const isInput = upload?.purpose === 'user_data';
    return { name: `${name}.file_id`, url: isInput ? storage.urlOf(upload.storageKey) : null };
  });
  const named = await Promise.all(found);
  const linkTo = ({ name, url }: (typeof named)[number]): string => {
    if (url === null) throw badRequest(`"${name}" is not an uploaded picture of this account`);
    // OpenAI takes these, too. A body in JSON has no room for them.
    if (/^data:/i.test(url)) {
      throw badRequest(`"${name}" must be a public HTTPS URL. Send the picture itself as a file in a form`);
    }
    return url;
  };
  return {
    addTo: (order) => {
      const images = [...uploaded, ...named.map(linkTo)];
      return images.length === 0 ? order : { ...order, images };
    },
    names: Object.fromEntries(named.map(({ name }, index) => [`images[${uploaded.length + index}]`, name])),
  };
}

/**
 * The same result. A refusal of the task names the fields as the client sent them.
 *
 * @param names the sent names, by the names in the body of a task: contract 4.2, 4.3
 */
export async function namedAsSent<Result>(
  names: Readonly<Record<string, string>>,
  result: Promise<Result>,
): Promise<Result> {
  try {
    return await result;
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== 'bad_request') throw error;
    throw badRequest(
      error.message.replace(/"(\w+(?:\[\d+\])?)"/g, (quoted, name: string) =>
        Object.hasOwn(names, name) ? `"${names[name]}"` : quoted,
      ),
    );
  }
}
