/** Uploads of local inputs (specification section 4.5), and what an account has uploaded. */
import type Router from '@koa/router';
import { findUpload, listUploads, type Upload } from '../../../db/queries/uploads.ts';
import { ServiceError } from '../../../domain/errors.ts';
import { pageOf, presentPage } from '../../pagination.ts';
import type { ApiServices } from '../../services/services.ts';
import { callerOf, type Context, type RequestState } from '../../state.ts';
import { idCursor } from '../webhooks/query.ts';
import { presentFile } from './present.ts';
import { receiveUpload } from './receive-upload.ts';

export function fileRoutes(router: Router<RequestState>, services: ApiServices): void {
  const { database, storage, uploads, uploadExpiryMs, authenticate, limitRequests } = services;
  const present = (upload: Upload) =>
    presentFile(upload, { url: storage.urlOf(upload.storageKey), expiryMs: uploadExpiryMs });

  router.post('/v1/files', authenticate, limitRequests, async (context) => {
    const caller = callerOf(context);
    const upload = await receiveUpload(context.req, (file) => uploads.store(caller, file));
    context.status = 201;
    context.body = { data: present(upload) };
  });

  router.get('/v1/files', authenticate, limitRequests, async (context) => {
    const { limit, after } = pageOf(context, 1);
    const found = await listUploads(database, {
      accountId: callerOf(context).account.id,
      before: idCursor('file', after),
      limit: limit + 1,
    });
    context.body = presentPage(found, limit, present, ({ id }) => [id]);
  });

  router.get('/v1/files/:fileId', authenticate, limitRequests, async (context) => {
    const upload = await findUpload(database, ...ownerAndId(context));
    if (!upload) throw noSuchFile();
    context.body = { data: present(upload) };
  });

  router.delete('/v1/files/:fileId', authenticate, limitRequests, async (context) => {
    const [accountId, id] = ownerAndId(context);
    if (!(await uploads.remove(accountId, id))) throw noSuchFile();
    context.body = { data: { id, object: 'file', deleted: true } };
  });
}

function ownerAndId(context: Context): readonly [accountId: string, fileId: string] {
  return [callerOf(context).account.id, context.params['fileId'] ?? ''];
}

function noSuchFile(): ServiceError {
  return new ServiceError('not_found', 'There is no such file in this account. Check the id and the key.');
}
