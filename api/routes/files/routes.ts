/** Uploads of local inputs: specification section 4.5. */
import type Router from '@koa/router';
import type { ApiServices } from '../../services/services.ts';
import type { RequestState } from '../../state.ts';
import { presentFile } from './present.ts';
import { receiveUpload } from './receive-upload.ts';

export function fileRoutes(router: Router<RequestState>, services: ApiServices): void {
  const { storage, authenticate, limitRequests } = services;

  router.post('/v1/files', authenticate, limitRequests, async (context) => {
    const file = await receiveUpload(context.req, storage);
    context.status = 201;
    context.body = { data: presentFile(file) };
  });
}
