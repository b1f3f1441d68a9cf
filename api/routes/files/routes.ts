/** Uploads of local inputs, and the files of batches (contract 4.5). */
import { findUpload, listUploads, type Upload } from '../../../db/queries/uploads.ts';
import type { Caller } from '../../../db/queries/api-keys.ts';
import { filePurposeOf } from '../../../domain/file-purpose.ts';
import { FILE_EXTENSIONS } from '../../../storage/file-type.ts';
import { arrayOf, boolean, exactly, object, text } from '../../../domain/json-schema.ts';
import { dataAndFieldsOf, json } from '../../endpoint/answers.ts';
import { endpoint, endpoints } from '../../endpoint/endpoint.ts';
import { listPage, NEXT_CURSOR, pageById } from '../../endpoint/page.ts';
import { notFoundError } from '../../../domain/not-found.ts';
import { idParameter, NEWEST_FIRST, textParameter } from '../../endpoint/query.ts';
import type { ApiServices } from '../../services.ts';
import { DELETED_FILE, FILE } from './present.ts';
import { uploadBody } from '../../receive-upload.ts';
import { sendPrivateFile } from '../../send-file.ts';

export const fileEndpoints = endpoints('Files', {
  uploadFile: endpoint({
    request: 'POST /v1/files',
    access: 'key',
    summary: 'Upload a local input, or the input of a batch',
    description:
      `Takes up to 50 MB, videos up to 100 MB. The content determines the type: ${FILE_EXTENSIONS}. With the purpose \`batch\`, takes ` +
      'JSON Lines of up to 200 MB and 50,000 lines, and checks every line. An account may keep a limited number of files and ' +
      'bytes, more after a top-up. Above the limit, uploads answer 403. A file that no task uses expires.',
    body: uploadBody,
    answers: { 201: dataAndFieldsOf(FILE, 'The stored file') },
    handle: async ({ caller, body: receive }, services) => {
      const upload = await receive((file) => services.tasks.uploads.store(caller, file));
      return withFields(present(upload, services));
    },
  }),
  listFiles: endpoint({
    request: 'GET /v1/files',
    access: 'key',
    summary: 'List uploaded files',
    description: 'Newest first. The OpenAI SDKs page with `after` and `has_more`.',
    query: {
      ...pageById('file'),
      after: idParameter('file', 'The id of the last file of the previous page, instead of `cursor`'),
      order: NEWEST_FIRST,
      purpose: textParameter(
        'Only files with this purpose. Every other purpose than `batch` and `batch_output` means `user_data`, as in an upload',
      ),
    },
    isQueryClosed: true,
    answers: {
      200: {
        description: 'A page of files',
        content: json(
          object({
            object: exactly('list'),
            data: arrayOf(FILE.schema),
            has_more: boolean(),
            next_cursor: NEXT_CURSOR,
          }),
        ),
      },
    },
    handle: async ({ caller: { account }, query: { after, cursor = after, limit, purpose } }, services) => {
      const filter = { accountId: account.id, purpose: purpose === undefined ? undefined : filePurposeOf(purpose) };
      const page = await listPage(
        { cursor, limit },
        (slice) => listUploads(services.database, { ...filter, ...slice }),
        (upload) => present(upload, services),
      );
      return { object: 'list', data: page.data, has_more: page.next_cursor !== null, next_cursor: page.next_cursor };
    },
  }),
  getFile: endpoint({
    request: 'GET /v1/files/{file_id}',
    access: 'key',
    summary: 'Get an uploaded file',
    answers: { 200: dataAndFieldsOf(FILE, 'The file') },
    handle: async ({ caller, params }, services) =>
      withFields(present(await findFile(caller, params.file_id, services), services)),
  }),
  deleteFile: endpoint({
    request: 'DELETE /v1/files/{file_id}',
    access: 'key',
    summary: 'Delete an uploaded file',
    description: 'The file’s link stops working at once, even for running tasks.',
    answers: { 200: dataAndFieldsOf(DELETED_FILE, 'The deleted file') },
    handle: async ({ caller, params: { file_id: id } }, { tasks: { uploads } }) => {
      if (!(await uploads.remove(caller.account.id, [id]))) throw notFoundError('file', caller);
      return withFields(DELETED_FILE.present({ id }));
    },
  }),
  downloadFile: endpoint({
    request: 'GET /v1/files/{file_id}/content',
    access: 'key',
    summary: 'Download a file',
    answers: {
      200: { description: 'The lines of a file of a batch', content: { 'application/jsonl': { schema: text() } } },
      302: { description: 'Redirects to any other file in the store' },
    },
    handle: async ({ caller, params, context }, services) => {
      const upload = await findFile(caller, params.file_id, services);
      if (upload.purpose === 'user_data') context.redirect(services.storage.urlOf(upload.storageKey));
      else if (!(await sendPrivateFile(context, upload, services.storage))) throw notFoundError('file', caller);
    },
  }),
});

/** @throws ServiceError `not_found` */
async function findFile(caller: Caller, id: string, { database }: ApiServices): Promise<Upload> {
  const upload = await findUpload(database, caller.account.id, id);
  if (!upload) throw notFoundError('file', caller);
  return upload;
}

/** An object as `data`, and its fields at the top: contract 4.5. */
function withFields(data: object): object {
  return { ...data, data };
}

function present(upload: Upload, { storage, publicUrl, tasks: { uploadExpiryMs } }: ApiServices) {
  const { id, purpose, storageKey } = upload;
  const url = purpose === 'user_data' ? storage.urlOf(storageKey) : `${publicUrl}/v1/files/${id}/content`;
  return FILE.present({ ...upload, url, expiryMs: uploadExpiryMs });
}
