/** The body of a new batch: contract 4.17. */
import Joi from 'joi';
import { BATCH_ENDPOINTS } from '../../domain/batch.ts';
import { BATCHES } from '../../domain/policy.ts';
import { type BodyOf, bodySchema, choice, freeText, orNull, requiredField } from './validation.ts';

const { maxKeys, maxKeyLength, maxValueLength } = BATCHES.metadata;

const metadata: Joi.ObjectSchema<Record<string, string>> = Joi.object()
  .pattern(freeText({ min: 1, max: maxKeyLength }), freeText({ min: 0, max: maxValueLength }).allow(''))
  .max(maxKeys);

export const createBatchSchema = bodySchema({
  input_file_id: requiredField(
    freeText({ min: 1, max: 100 }).description('A file that was uploaded with the purpose `batch`'),
  ),
  endpoint: requiredField(choice(BATCH_ENDPOINTS).description('The endpoint of all requests in the file')),
  completion_window: requiredField(choice([`${BATCHES.windowHours}h`]).description('How long requests may start')),
  metadata: orNull(metadata).description('Your own keys and values'),
  output_expires_after: orNull(Joi.object().unknown()).description('Accepted without effect'),
});
export type CreateBatchBody = BodyOf<typeof createBatchSchema>;
