/** Trying media models: choose one, see what it costs, and watch the task. */
import type { ApiServices } from '../../../api/services/services.ts';
import { placeTask } from '../../../api/services/place-task.ts';
import type { CreateTaskRequest } from '../../../api/services/create-task.ts';
import type { MediaModel } from '../../../catalogue/types.ts';
import { assertUsable } from '../../../domain/api-key.ts';
import { ServiceError } from '../../../domain/errors.ts';
import { Card, Choice, Copyable, Field, Form, Money, Problem } from '../../html/components.tsx';
import { type Answer, DEVELOPERS, type MemberVisit, memberPage } from '../../page.ts';
import { consoleCaller } from './caller.ts';
import { bodyOf, type MediaBody, mediaModels } from './media-form.ts';

export const playgroundPages = [
  memberPage({
    method: 'get',
    path: '/accounts/{account_id}/playground',
    roles: DEVELOPERS,
    handle: async (visit, services) => playground(visit, services, { chosen: visit.query.get('model'), problem: null }),
  }),
  memberPage({
    method: 'post',
    path: '/accounts/{account_id}/playground',
    roles: DEVELOPERS,
    handle: async (visit, services) => {
      const chosen = visit.form.text('model');
      try {
        const taskId = await place(visit, services);
        return { kind: 'redirect', path: `/accounts/${visit.account.accountId}/tasks/${taskId}` };
      } catch (error) {
        if (!(error instanceof ServiceError) || error.status >= 500) throw error;
        return playground(visit, services, { chosen, problem: error.message });
      }
    },
  }),
  memberPage({
    method: 'post',
    path: '/accounts/{account_id}/playground/price',
    roles: DEVELOPERS,
    handle: async (visit, services) => {
      const body = bodyOf(visit.form);
      try {
        return { kind: 'part', content: <Price visit={visit} body={body} request={parse(services, body)} /> };
      } catch (error) {
        if (!(error instanceof ServiceError)) throw error;
        return { kind: 'part', content: <p class="hint">{error.message}</p> };
      }
    },
  }),
];

/** As the API reads it. @throws ServiceError `bad_request` */
function parse({ catalogue, parseVideoRequest, parseImageRequest }: ApiServices, body: MediaBody): CreateTaskRequest {
  return catalogue.imageModels.has(body.model) ? parseImageRequest(body) : parseVideoRequest(body);
}

/** @returns the id of the new task */
async function place({ form, account, requestId }: MemberVisit, services: ApiServices): Promise<string> {
  const request = parse(services, bodyOf(form));
  const caller = await consoleCaller(services, account.accountId);
  assertUsable(caller.key, caller.account, new Date(services.clock.nowMs()));
  const checkLinks = request.render.kind === 'image' ? services.checkImageLinks : undefined;
  const { taskId } = await placeTask({ caller, request, claim: null, requestId }, services, checkLinks);
  return taskId;
}

interface Shown {
  readonly chosen: string | null;
  readonly problem: string | null;
}

function playground(visit: MemberVisit, { catalogue }: ApiServices, { chosen, problem }: Shown): Answer {
  const { texts, account, session, form } = visit;
  const words = texts.playground;
  const models = mediaModels(catalogue);
  const model = models.find(({ id }) => id === chosen) ?? models[0];
  const path = `/console/accounts/${account.accountId}/playground`;
  return {
    kind: 'page',
    title: words.title,
    current: 'playground',
    status: problem === null ? 200 : 400,
    content: (
      <>
        <form method="get" action={path} class="filters">
          <Choice
            name="model"
            label={texts.common.model}
            value={model?.id ?? ''}
            options={models.map(({ id, kind }) => [id, `${id} (${texts.tasks.kinds[kind]})`])}
          />
          <button type="submit" class="quiet">
            {words.choose}
          </button>
        </form>
        {model === undefined ? null : (
          <Card>
            <Problem message={problem} />
            <Form token={session.formToken} action={path} id="playground">
              <input type="hidden" name="model" value={model.id} />
              <Field name="prompt" label={texts.tasks.prompt} value={form.text('prompt')} required lines={4} />
              <ModelFields model={model} visit={visit} />
              <div
                id="price"
                aria-live="polite"
                hx-post={`${path}/price`}
                hx-include="#playground"
                hx-trigger="load, change from:#playground, input delay:600ms from:#playground"
              ></div>
              <button type="submit">{words.create}</button>
            </Form>
          </Card>
        )}
      </>
    ),
  };
}

function ModelFields({ model, visit: { texts, form } }: { readonly model: MediaModel; readonly visit: MemberVisit }) {
  const words = texts.playground;
  return (
    <div class="grid">
      {model.kind === 'video' ? (
        <Field
          name="duration"
          label={words.duration(model.durationSeconds.min, model.durationSeconds.max)}
          inputMode="numeric"
          value={form.text('duration') || String(model.durationSeconds.default)}
        />
      ) : null}
      <Choice
        name="aspect_ratio"
        label={words.aspectRatio}
        value={form.text('aspect_ratio') || model.defaultAspectRatio}
        options={model.aspectRatios.map((ratio) => [ratio, ratio])}
      />
      <Choice
        name="resolution"
        label={words.resolution}
        value={form.text('resolution') || model.defaultResolution}
        options={resolutionsOf(model).map((resolution) => [resolution, resolution])}
      />
      {model.images.max === 0 ? null : (
        <Field
          name="images"
          label={words.images(model.images.max)}
          hint={words.imagesHint}
          value={form.text('images')}
          lines={2}
        />
      )}
    </div>
  );
}

function resolutionsOf(model: MediaModel): readonly string[] {
  return model.kind === 'video' ? [...model.pricing.byResolution.keys()] : Object.keys(model.pricePerTier);
}

interface PriceProps {
  readonly visit: MemberVisit;
  readonly body: MediaBody;
  readonly request: CreateTaskRequest;
}

/** What the task would cost, and the same call for programs. */
function Price({ visit: { texts }, body, request }: PriceProps) {
  const path = request.render.kind === 'image' ? '/v1/images/tasks' : '/v1/videos/tasks';
  const json = JSON.stringify(body).replaceAll("'", String.raw`'\''`);
  const curl = `curl "$GENWAY_URL${path}" -H "Authorization: Bearer $GENWAY_KEY" -H 'Content-Type: application/json' -d '${json}'`;
  return (
    <>
      <p>
        {texts.common.price}: <Money amount={request.price} />
      </p>
      <Copyable text={curl} texts={texts} label={texts.playground.sameCall} />
      <br />
    </>
  );
}
