/** The routes of a media model: its upstreams and the requests to them, as configured (docs/catalogue.md). */
import type { UpstreamFault } from './circuit.ts';
import type { TaskErrorCode } from './errors.ts';
import { IMAGE_CHOICES } from './image-choices.ts';
import type { JsonObject } from './json.ts';
import type { ModelParameters } from './model-parameters.ts';
import type { PicoUsd } from './money.ts';
import type { PriceModifier } from './pricing.ts';

/** The meaning of a request's images for the upstream's model. */
export const IMAGE_ROLES = ['first_frame', 'first_and_last_frame', 'references'] as const;
export type ImageRole = (typeof IMAGE_ROLES)[number];

/** Whether a file must have the requested size, only its shape, or only the right kind. */
export const RESULT_CHECKS = ['exact', 'ratio', 'any'] as const;
export type ResultCheck = (typeof RESULT_CHECKS)[number];

/** The inputs that can fill a field of an upstream's request. */
export const FIELD_INPUTS = [
  'prompt',
  'image',
  'last_image',
  'images',
  'videos',
  'audios',
  'duration',
  'aspect_ratio',
  'resolution',
  'width',
  'height',
  'size',
  ...IMAGE_CHOICES.map(({ name }) => name),
] as const;
export type FieldInput = (typeof FIELD_INPUTS)[number];

/** The notation of an input: `5`, `"5"`, `"5s"`, `{width, height}`, `[…]`. */
export const FIELD_FORMS = ['number', 'string', 'seconds', 'object', 'list'] as const;
export type FieldForm = (typeof FIELD_FORMS)[number];

/** An upstream's field for an input; null for an input that is not sent. */
export type FieldName = { readonly to: string; readonly as?: FieldForm } | null;
export type FieldNames = Readonly<Partial<Record<FieldInput, FieldName>>>;

/** An upstream's field for a parameter of the model: a path such as `parameters.negativePrompt`, or null for none. */
export type ParameterNames = Readonly<Record<string, string | null>>;

/** The operator's cost of a render, in pico-USD: per second, per render, or per unit that the upstream reports. */
export interface RouteCost {
  readonly per: 'second' | 'render' | 'unit';
  /** By resolution, with `*` for any other; for `unit`, by the unit in which the upstream reports its charge. */
  readonly prices: Readonly<Record<string, string>>;
  readonly modifiers?: readonly PriceModifier[];
}

/** Changes to the requests of a route, by the upstream's names of fields; points lead into objects. */
export interface RouteChanges {
  readonly drop?: readonly string[];
  readonly rename?: Readonly<Record<string, string>>;
  readonly set?: JsonObject;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A route. Each task stores its routes as they were when the task was created. */
export interface MediaRoute extends RouteChanges {
  /** The upstream's name. */
  readonly provider: string;
  /** The upstream's name for the model. */
  readonly model: string;
  /** The upstream's name for the model when the request has images; `model` when absent. */
  readonly modelWithImages?: string;
  /** The default depends on the kind: {@link imageRoleOf}. */
  readonly imagesAs?: ImageRole;
  /** Further fields of the upstream's request body, as they are. */
  readonly params?: Readonly<Record<string, unknown>>;
  readonly fields?: FieldNames;
  /** For parameters that the upstream calls by another name, or does not have. */
  readonly parameters?: ParameterNames;
  readonly cost?: RouteCost;
}

/** A route with its position among the others. */
export interface RankedRoute extends MediaRoute {
  /** Routes with a lower order come first. */
  readonly order: number;
  /** The share among routes of equal order. */
  readonly weight: number;
}

/**
 * Returns the routes in the order in which a task tries them: by `order`, and drawn by `weight` among equal orders.
 *
 * @param random returns a number from 0, below 1; called once for each route but the last of its order
 */
export function drawRoutes(routes: readonly RankedRoute[], random: () => number): readonly MediaRoute[] {
  const orders = [...new Set(routes.map(({ order }) => order))].sort((one, other) => one - other);
  return orders.flatMap((order) =>
    drawEquals(
      routes.filter((route) => route.order === order),
      random,
    ),
  );
}

function drawEquals(routes: readonly RankedRoute[], random: () => number): readonly MediaRoute[] {
  const remaining = [...routes];
  const drawn: MediaRoute[] = [];
  while (remaining.length > 0) {
    let ticket = remaining.length === 1 ? 0 : random() * remaining.reduce((total, { weight }) => total + weight, 0);
    const index = remaining.findIndex(({ weight }) => (ticket -= weight) < 0);
    const [route] = remaining.splice(Math.max(index, 0), 1);
    if (!route) break;
    const { order: _order, weight: _weight, ...rest } = route;
    drawn.push(rest);
  }
  return drawn;
}

/** Returns the routes whose upstreams have a field for each parameter of a request that is not at its default. */
export function routesWith<Route extends MediaRoute>(
  routes: readonly Route[],
  values: JsonObject = {},
  { properties }: ModelParameters,
): readonly Route[] {
  const chosen = Object.keys(values).filter((name) => values[name] !== properties[name]?.default);
  return routes.filter(({ parameters = {} }) => chosen.every((name) => parameters[name] !== null));
}

/** The meaning of a request's images on a route. */
export function imageRoleOf(route: Pick<MediaRoute, 'imagesAs'>, kind: 'image' | 'video'): ImageRole {
  return route.imagesAs ?? (kind === 'video' ? 'first_frame' : 'references');
}

/** The cost of a render as the upstream reported it, in its own units, such as `usd`, `tokens` or `credits`. */
export interface VendorCost {
  /** A decimal, as the upstream wrote it. */
  readonly amount: string;
  readonly unit: string;
}

/** The faults for which an upstream does not accept a job. */
export const MEDIA_FAULTS = ['unreachable', 'access_refused', 'failed'] as const satisfies readonly UpstreamFault[];

/** Why an upstream did not accept a job. `busy` means too many requests or jobs at once, which is no fault. */
export const NOT_TAKEN_CAUSES = [...MEDIA_FAULTS, 'busy'] as const;
export type NotTakenCause = (typeof NOT_TAKEN_CAUSES)[number];

/** A submission of a task to an upstream, from the moment before the first byte is sent. */
export interface Submission {
  readonly taskId: string;
  /** From 1. */
  readonly attempt: number;
  /** The position of the route in the task's list. */
  readonly route: number;
  readonly provider: string;
  /** The vendor behind the upstream: job ids are unique there, and several upstreams may lead to it. */
  readonly vendor: string;
  /** The upstream's name for the model. */
  readonly model: string;
  /** A digest of the body, which identifies the submission in the upstream's list of jobs. */
  readonly fingerprint: string;
  readonly submittedAt: Date;
  /** Null while it is unknown. */
  readonly outcome: SubmissionOutcome | null;
  /** The evidence of the outcome, such as `the answer` or `the callback`. */
  readonly evidence: string | null;
  /** Why the upstream refused the job or delivered no result, as the client reads it, or why it did not accept the job. */
  readonly code: TaskErrorCode | NotTakenCause | null;
  /** The upstream's words about it, or a note, for operators. */
  readonly detail: string | null;
  readonly settledAt: Date | null;
  readonly jobId: string | null;
  /** Whether the task must not use this route again. */
  readonly isRouteExcluded: boolean;
  /** The list price of a render that may reach no customer, in pico-USD. */
  readonly possibleLoss: PicoUsd | null;
  readonly vendorCost: VendorCost | null;
}

/** The code and the details in one line, for operators. */
export function noteOf({ code, detail }: Pick<Submission, 'code' | 'detail'>): string | null {
  return [code, detail].filter((part) => part !== null).join(': ') || null;
}

/** The outcomes of a submission; `unknown` once the search for the outcome was given up. */
const SUBMISSION_OUTCOMES = ['accepted', 'refused', 'not_taken', 'unknown'] as const;
export type SubmissionOutcome = (typeof SUBMISSION_OUTCOMES)[number];
