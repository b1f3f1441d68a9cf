/** The dependencies of the routes. `createServices` in `api/app.ts` builds them once per process. */
import type { AccessChecks } from './endpoint/access-checks.ts';
import type { RequestLimit } from './middlewares/limit-requests.ts';
import type { Descriptions } from './openapi/descriptions.ts';
import type { ValidatedImageRequest } from './routes/images/schema.ts';
import type { ValidatedVideoRequest } from './routes/videos/schema.ts';
import type { Services } from '../services/services.ts';

/** All services, with the ones that read requests. */
export interface ApiServices extends Services {
  readonly accessChecks: AccessChecks;
  readonly requestLimit: RequestLimit;
  readonly descriptions: Descriptions;
  /** @throws ServiceError `bad_request` */
  readonly parseVideoRequest: (body: unknown) => ValidatedVideoRequest;
  /** @throws ServiceError `bad_request` */
  readonly parseImageRequest: (body: unknown) => ValidatedImageRequest;
}
