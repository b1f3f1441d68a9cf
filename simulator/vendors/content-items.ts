/** Shared by Ark and MiniMax: the `content` of requests for videos, and lists of tasks. */
import { isObject, type JsonObject } from '../../domain/json.ts';
import { invalid, type Render } from './simulate-vendor.ts';

/** The roles of each type of content; frames and references exclude each other. */
const ROLES: Readonly<Record<string, readonly string[]>> = {
  image_url: ['first_frame', 'last_frame', 'reference_image'],
  video_url: ['reference_video'],
  audio_url: ['reference_audio'],
};
const FRAMES: readonly string[] = ['first_frame', 'last_frame'];

/** The states of tasks, under both vendors' names. */
export const TASK_STATES = {
  queued: 'queued',
  running: 'running',
  succeeded: 'succeeded',
  failed: 'failed',
  cancelled: 'cancelled',
  odd: 'reheating',
} as const;

/** A page of the tasks of one model, or of all. */
export function listTasks(
  all: readonly Render[],
  { searchParams }: URL,
  { size, maxSize }: { readonly size: number; readonly maxSize: number },
  present: (render: Render) => JsonObject,
): JsonObject {
  const model = searchParams.get('filter.model');
  const pageSize = Math.min(Number(searchParams.get('page_size') ?? size), maxSize);
  const start = (Number(searchParams.get('page_num') ?? 1) - 1) * pageSize;
  const tasks = all.filter(({ order }) => model === null || order.model === model);
  return { items: tasks.slice(start, start + pageSize).map(present), total: tasks.length };
}

/** The prompt in the content. @throws VendorFault for invalid content */
export function promptIn({ content }: JsonObject): string {
  if (!Array.isArray(content)) throw invalid('content', 'The parameter content must be an array.');
  const texts: string[] = [];
  for (const item of content.filter(isObject)) {
    const { type, role } = item;
    if (type === 'text') texts.push(textIn(item, 'text'));
    else if (typeof type !== 'string' || !ROLES[type]?.includes(String(role))) {
      throw invalid('content.role', `The role ${String(role)} does not fit ${String(type)}.`);
    }
  }
  assertRoles(rolesIn(content));
  return texts.join(' ');
}

/** Whether the video starts with a frame. */
export function isFramed({ content }: JsonObject): boolean {
  return Array.isArray(content) && rolesIn(content).has('first_frame');
}

/** @throws VendorFault */
export function textIn(body: JsonObject, field: string): string {
  const value = body[field];
  if (typeof value === 'string' && value !== '') return value;
  throw invalid(field, `The parameter ${field} must be a string.`);
}

function rolesIn(content: readonly unknown[]): ReadonlySet<unknown> {
  return new Set(content.filter(isObject).flatMap(({ role }) => (role === undefined ? [] : [role])));
}

function assertRoles(roles: ReadonlySet<unknown>): void {
  const frames = [...roles].filter((role) => FRAMES.includes(String(role)));
  if (frames.length > 0 && frames.length < roles.size) {
    throw invalid('content.role', 'First and last frames cannot be mixed with references.');
  }
  if (roles.has('last_frame') && !roles.has('first_frame')) throw invalid('content.role', 'There is no first frame.');
}
