/**
 * OpenAI's former wire format for videos, which other gateways speak, after the types of `openai` 6 (`resources/videos`).
 * Like those gateways it accepts any whole number of seconds.
 */
import { route, sendJson } from '../router.ts';
import { readForm } from './form.ts';
import { openaiCodeOf, openaiFault } from './openai-errors.ts';
import { invalid, onlyFields, pixelsOf, type Renders, type Render, type Vendor } from './simulate-vendor.ts';

const FIELDS = ['model', 'prompt', 'seconds', 'size'];
const FILES = ['input_reference'];
const MAX_SECONDS = 60;
const MAX_PAGE = 100;

export const openaiVideos: Vendor = {
  name: 'openai-videos',
  answerFault: openaiFault,

  routes: (renders) => [
    route('POST', '/v1/videos', async (request, response) => {
      const { fields, files } = await readForm(request);
      onlyFields(fields, FIELDS);
      onlyFields(files, FILES);
      const { prompt = '', model = '', seconds = '4', size = '720x1280' } = fields;
      if (prompt === '') throw invalid('prompt', "Missing required parameter: 'prompt'.");
      if (!/^\d{1,2}$/.test(seconds) || Number(seconds) < 1 || Number(seconds) > MAX_SECONDS) {
        throw invalid('seconds', "Invalid value for 'seconds'.");
      }
      const rendering = { kind: 'video', ...pixelsOf('size', size), durationSeconds: Number(seconds) } as const;
      const sent = { model, prompt, seconds, size };
      const render = renders.accept({ prompt, model, rendering, sent });
      renders.acknowledge(render, response, { status: 200, body: present(renders, render) });
    }),
    route('GET', '/v1/videos', (request, response) => {
      const { searchParams } = request.url;
      const limit = Math.min(Number(searchParams.get('limit') ?? 20), MAX_PAGE);
      const all = searchParams.get('order') === 'asc' ? renders.all().toReversed() : renders.all();
      const after = searchParams.get('after');
      const start = after === null ? 0 : all.findIndex((render) => nameOf(render) === after) + 1;
      const page = all.slice(start, start + limit);
      sendJson(response, 200, {
        object: 'list',
        data: page.map((render) => present(renders, render)),
        first_id: page[0] ? nameOf(page[0]) : null,
        last_id: page.at(-1) ? nameOf(page[page.length - 1]) : null,
        has_more: start + limit < all.length,
      });
    }),
    route('GET', '/v1/videos/video_{id}', ({ parameters }, response) =>
      sendJson(response, 200, present(renders, renders.get(parameters['id'] ?? ''))),
    ),
    route('GET', '/v1/videos/video_{id}/content', ({ parameters }, response) =>
      renders.sendFile(renders.get(parameters['id'] ?? ''), 0, response),
    ),
    route('DELETE', '/v1/videos/video_{id}', ({ parameters }, response) => {
      const render = renders.get(parameters['id'] ?? '');
      renders.cancel(render);
      sendJson(response, 200, { id: nameOf(render), object: 'video.deleted', deleted: true });
    }),
  ],
};

const STATES = {
  queued: 'queued',
  running: 'in_progress',
  succeeded: 'completed',
  failed: 'failed',
  cancelled: 'failed',
  odd: 'warming_up',
} as const;

function nameOf(render: Render | undefined): string | null {
  return render ? `video_${render.id}` : null;
}

function present(renders: Renders, render: Render): object {
  const { order, job } = render;
  const state = renders.stateOf(render);
  const failure = renders.failureOf(render);
  return {
    id: nameOf(render),
    object: 'video',
    ...(typeof order.sent === 'object' && order.sent),
    status: STATES[state],
    progress: state === 'succeeded' ? 100 : 0,
    created_at: Math.floor(job.createdAtMs / 1000),
    completed_at: state === 'succeeded' ? Math.floor(job.rendersUntilMs / 1000) : null,
    expires_at: null,
    remixed_from_video_id: null,
    error: state === 'failed' ? { code: openaiCodeOf(failure), message: 'The prompt asked for this failure.' } : null,
  };
}
