/**
 * An endpoint is one definition of its path, access, body, answers and handler. The router (`mount.ts`) and the API
 * description (`openapi/document.ts`) are both derived from the definition, so they cannot disagree.
 */
import type { Method, Operation, Tag } from '../openapi/operation.ts';
import { isObject } from '../../domain/json.ts';
import type { JsonSchema } from '../../domain/json-schema.ts';
import { namedModel } from '../../domain/named-model.ts';
import { recordAdminCall } from '../../services/people/administrator.ts';
import type { ApiServices } from '../services.ts';
import type { Context, PresentError } from '../state.ts';
import type { Access, CallerBy } from './access.ts';
import { type Refusal, type RefusalStatus, statusOf } from './answers.ts';
import type { RequestBody } from './body.ts';
import { parameterNames, type PathParameters, pathReader } from './path.ts';
import { describeQuery, type QueryParameters, queryReader } from './query.ts';

/** An endpoint that can be mounted on a router. */
export interface Endpoint extends Operation {
  /** Another path with the same handler. */
  readonly alias?: string;
  /** Renders errors, also of other methods of the path. */
  readonly presentError?: PresentError;
  /** Answers a request, or throws a ServiceError. */
  readonly serve: (context: Context, services: ApiServices) => Promise<void>;
}

/** An endpoint that gets its name, the `operationId`, and its tag from its record: {@link endpoints}. */
export type UnnamedEndpoint = (id: string, tag: Tag) => Endpoint;

/** A method and a path, with parameters in braces: `GET /v1/tasks/{task_id}`. */
export type RequestLine = `${Uppercase<Method>} /${string}`;

/** A request as a handler gets it, fully checked. */
export interface EndpointRequest<Path extends string, Rule extends Access, Query> {
  readonly caller: CallerBy[Rule];
  readonly params: PathParameters<Path>;
  readonly query: Query;
  /** For rare needs: headers, or an answer with another status or media type. */
  readonly context: Context;
}

export interface Definition<Path extends RequestLine, Rule extends Access, Query> extends Pick<
  Operation,
  'summary' | 'description' | 'answers' | 'isRead' | 'refusalsInFormat'
> {
  readonly request: Path;
  /** Another path with the same parameters, which some clients use; it is not described. */
  readonly alias?: string;
  readonly access: Rule;
  readonly query?: QueryParameters<Query>;
  /**
   * Whether to refuse unknown query parameters: by default, reads of administrators that have parameters do, since an ignored
   * filter would list too much. A public list needs it if clients may send page parameters of other APIs.
   */
  readonly isQueryClosed?: boolean;
  /** Descriptions of the headers that the handler reads. */
  readonly headers?: readonly JsonSchema[];
  /** Refusals that do not follow from the access, the path, the query or the body. */
  readonly refusals?: readonly Refusal[];
  /** Renders errors, if the envelope has more fields than the common one. */
  readonly presentError?: PresentError;
}

/** Returns the body of the answer; nothing when there is none, or when the handler has set `context.body` itself. */
type Handler<Request> = (
  request: Request,
  services: ApiServices,
) => object | string | void | Promise<object | string | void>;

interface Bodiless<Path extends RequestLine, Rule extends Access, Query> extends Definition<Path, Rule, Query> {
  readonly body?: undefined;
  readonly handle: Handler<EndpointRequest<Path, Rule, Query>>;
}

interface WithBody<Path extends RequestLine, Rule extends Access, Query, Body> extends Definition<Path, Rule, Query> {
  readonly body: RequestBody<Body>;
  readonly handle: Handler<EndpointRequest<Path, Rule, Query> & { readonly body: Body }>;
}

/** Defines an endpoint. Access is checked first, then path, query and body; the handler gets only checked values. */
export function endpoint<const Path extends RequestLine, Rule extends Access, Body, Query extends object = object>(
  definition: WithBody<Path, Rule, Query, Body>,
): UnnamedEndpoint;
export function endpoint<const Path extends RequestLine, Rule extends Access, Query extends object = object>(
  definition: Bodiless<Path, Rule, Query>,
): UnnamedEndpoint;
export function endpoint<const Path extends RequestLine, Rule extends Access, Query extends object, Body>(
  definition: WithBody<Path, Rule, Query, Body> | Bodiless<Path, Rule, Query>,
): UnnamedEndpoint {
  const { access, answers, alias, presentError, query } = definition;
  const described = describe(definition, definition.body);
  const status = Math.min(...Object.keys(answers).map(Number));
  const readPath = pathReader(definition.request);
  const readQuery = queryReader(query, definition.isQueryClosed ?? (query !== undefined && access === 'admin-read'));
  return (id, tag) => {
    const operation = { ...described, id, tag };
    return {
      ...operation,
      ...(alias !== undefined && { alias }),
      ...(presentError && { presentError }),
      serve: async (context, services) => {
        if (definition.isRead === true) context.state.isRead = true;
        if (presentError) context.state.presentError = presentError;
        const caller = await services.http.accessChecks[access](context);
        const params = readPath(context.params, context.state.caller ?? null);
        const request = {
          caller,
          params,
          query: readQuery(context.state.query),
          context,
        };
        context.status = status;
        const note = (body: unknown) => noteAdministrator(context, operation, body, services);
        let answer: object | string | void;
        if (definition.body === undefined) {
          await note(undefined);
          answer = await definition.handle(request, services);
        } else {
          const body = await definition.body.read(context.req, services);
          context.state.model = isObject(body) ? namedModel(body['model']) : undefined;
          await note(body);
          answer = await definition.handle({ ...request, body }, services);
        }
        if (answer !== undefined) context.body = answer;
      },
    };
  };
}

/** Names the endpoints of a file by their keys, and puts them under a tag of the API description. */
export function endpoints(tag: Tag, unnamed: Readonly<Record<string, UnnamedEndpoint>>): readonly Endpoint[] {
  return Object.entries(unnamed).map(([id, named]) => named(id, tag));
}

/** Records an administrator's action before it changes anything. */
async function noteAdministrator(
  context: Context,
  { id, method }: Operation,
  body: unknown,
  { database }: ApiServices,
): Promise<void> {
  const { administrator, requestId } = context.state;
  if (!administrator || method === 'get') return;
  await recordAdminCall(database, administrator, { action: id, path: context.path, body, requestId });
}

const METHODS: Readonly<Record<string, Method>> = { GET: 'get', POST: 'post', PATCH: 'patch', DELETE: 'delete' };

function splitRequest(request: RequestLine): { readonly method: Method; readonly path: string } {
  const [verb = '', path = ''] = request.split(' ');
  const method = METHODS[verb];
  if (method === undefined) throw new Error(`${verb} is no method of endpoints`);
  return { method, path };
}

/** Derives the operation of the API description from the definition. */
function describe<Path extends RequestLine, Rule extends Access, Query extends object>(
  definition: Definition<Path, Rule, Query>,
  body: RequestBody<unknown> | undefined,
): Omit<Operation, 'id' | 'tag'> {
  const { access, summary, description, query, headers = [], answers, refusalsInFormat } = definition;
  const { method, path } = splitRequest(definition.request);
  const parameters = [...headers, ...describeQuery(query ?? {})];
  const refusals: RefusalStatus[] = (definition.refusals ?? []).map(statusOf);
  if (query) refusals.push(400);
  if (body?.description === null) refusals.push(400, 413);
  if (parameterNames(path).length > 0) refusals.push(404);
  if (101 in answers) refusals.push(426);
  return {
    method,
    path,
    access,
    summary,
    parameters,
    answers,
    refusals,
    ...(description !== undefined && { description }),
    ...(definition.isRead === true && { isRead: true }),
    ...(refusalsInFormat && { refusalsInFormat }),
    ...(body?.description && { body: body.description }),
  };
}
