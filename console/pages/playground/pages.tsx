/** The playground: choose a model, see the price, and watch the task or read the answer. */
import { countAction } from '../../../services/people/account-limit.ts';
import { answerChat, streamChat } from '../../../services/text/chat.ts';
import { listModelsOf } from '../../../services/text/voice.ts';
import type { CreateTaskRequest } from '../../../services/tasks/create-task.ts';
import { priceOf, withPrices } from '../../../services/money/customer-prices.ts';
import { acceptTask } from '../../../services/tasks/accept-task.ts';
import type { ApiServices } from '../../../api/services.ts';
import type { Catalogue, MediaModel, TextModel } from '../../../catalogue/types.ts';
import { findTextUsageOfRequest } from '../../../db/queries/usage.ts';
import { badRequest, ServiceError } from '../../../domain/errors.ts';
import type { JsonObject } from '../../../domain/json.ts';
import { FormError } from '../../form-problem.ts';
import { Problem } from '../../html/components.tsx';
import { useTexts } from '../../html/page-context.ts';
import { requireFound, member, type MemberVisit, type PageResult, showPage, showPart } from '../../page.ts';
import { findOwnTask, findOwnPriceList } from '../own-account.ts';
import { bodyOf, formOfTask, withPrompt } from './bodies.ts';
import { consoleCaller, findRecordedUsage, listLatestTasks, sendRefusal } from './caller.ts';
import { AnswerCard, QuestionList, contentOf, Cost, type WholeAnswer } from './chat.tsx';
import { filePages } from './files.tsx';
import { findPlaygroundModel, isMedia, modelsByKind, type PlaygroundModel } from './models.ts';
import { realtimePages } from './realtime.tsx';
import { PriceAndCalls, PriceCard, type Priced } from './price.tsx';
import { voicePages } from './voice.tsx';
import { LatestRuns, ModelChoice, OrderPrice, pathOf, PLACED, TaskResult, TryForm } from './view.tsx';

const PATH = '/accounts/{account_id}/playground';
/** A page sends at most one request per 600 ms while the user types. */
const PRICES = { what: 'prices of the playground', perMinute: 200 };

export const playgroundPages = [
  member.page(PATH, 'develop', async (visit, services) => {
    const again = visit.query.get('task');
    const task = again === null ? null : await findOwnTask({ ...visit, params: { task_id: again } }, services);
    return show(
      task === null ? visit : { ...visit, form: formOfTask(task) },
      services,
      findPlaygroundModel(services.catalogue, task?.model ?? visit.query.get('model')),
    );
  }),
  member.form(PATH, 'develop', async (visit, services) => {
    const model = findPlaygroundModel(services.catalogue, visit.form.text('model'));
    if (isStreamRequested(visit)) return stream(visit, services, model);
    try {
      if (!model) throw new FormError(visit.texts.playground.noModel);
      const result = await (isMedia(model) ? place(visit, services, model) : ask(visit, services, model));
      return 'content' in result ? { ...result, contentOf: visit.account.accountId } : result;
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code === 'internal_error') throw error;
      const refused = { ...visit, problem: error };
      const again = visit.isPartRequest && model ? showFormAgain(visit, model) : await show(visit, services, model);
      return { ...again, status: 400, refused };
    }
  }),
  {
    ...member.form(`${PATH}/price`, 'develop', async (visit, services) => {
      await countAction(services.database, visit.account.accountId, PRICES);
      const model = findPlaygroundModel(services.catalogue, visit.form.text('model'));
      if (!visit.isPartRequest || !model) return show(visit, services, model);
      const priced = await price(visit, services, model);
      return showPart(
        <>
          <PriceAndCalls priced={priced} />
          <OrderPrice price={priced.price} isUpdate />
        </>,
      );
    }),
    isRepeatable: true as const,
  },
  member.page(`${PATH}/cost/{request_id}`, 'develop', async ({ account, params }, { database }) => {
    const usage = requireFound(await findRecordedUsage(database, account.accountId, params['request_id'] ?? ''));
    return showPart(<Cost usage={usage} />);
  }),
  member.page(`${PATH}/tasks/{task_id}`, 'develop', async (visit, services) => {
    const task = await findOwnTask(visit, services);
    const isShown = visit.query.get('shown') === task.status;
    return isShown ? showPart('', 204) : showPart(<TaskResult task={task} />);
  }),
  ...filePages,
  ...realtimePages,
  ...voicePages,
];

/** Renders the refused form in its own place, not in the place of the result, which may belong to an earlier task. */
function showFormAgain(visit: MemberVisit, model: PlaygroundModel): PageResult {
  visit.context.set({ 'HX-Retarget': '#order', 'HX-Reswap': 'outerHTML' });
  return showPart(<TryForm model={model} visit={visit} path={pathOf(visit)} price={null} />);
}

async function show(
  visit: MemberVisit,
  services: ApiServices,
  chosen: PlaygroundModel | null,
  answer: WholeAnswer | null = null,
): Promise<PageResult> {
  const groups = modelsByKind(services.catalogue);
  const isDisabled = (id: string): boolean => services.operations.models.disabledBy(id) !== null;
  const enabled = groups.flatMap(([, models]) => models).find(({ id }) => !isDisabled(id)) ?? null;
  const model = chosen ?? enabled;
  const { playground: messages, titles } = visit.texts;
  const [priced, latest] = await Promise.all([
    model && price(visit, services, model),
    listLatestTasks(visit, services),
  ]);
  const path = pathOf(visit);
  return showPage(
    titles.playground,
    <ModelChoice groups={groups} model={model} path={path} isDisabled={isDisabled} />,
    <OtherPages catalogue={services.catalogue} path={path} />,
    <div id="tried" class="grid">
      {model === null || priced === null ? null : isDisabled(model.id) ? (
        <Problem of={messages.disabled(model.id)} />
      ) : (
        <>
          <TryForm model={model} visit={visit} path={path} price={priced.price} />
          <div>
            {isMedia(model) ? null : <AnswerCard answer={answer} />}
            {/* Keeps its content when the model changes. Screen readers announce new content. */}
            <div id="result" hx-preserve="true" aria-live="polite"></div>
            <QuestionList />
            <PriceCard priced={priced} path={path} />
          </div>
        </>
      )}
    </div>,
    <LatestRuns tasks={latest} path={path} />,
  );
}

/** Links to the playground's pages of voice, if there are models for them. */
function OtherPages({ catalogue, path }: { catalogue: Catalogue; path: string }) {
  const { playground: messages } = useTexts();
  return (
    <p class="row">
      {listModelsOf(catalogue, 'realtime').length === 0 ? null : (
        <a href={`${path}/realtime`}>{messages.realtime.title}</a>
      )}
      {listModelsOf(catalogue, 'speech', 'transcriptions').length === 0 ? null : (
        <a href={`${path}/voice`}>{messages.voice.title}</a>
      )}
    </p>
  );
}

/** Returns the price of the call. The prompt may be empty. */
async function price(visit: MemberVisit, services: ApiServices, model: PlaygroundModel): Promise<Priced> {
  const prices = await findOwnPriceList(visit, services);
  const body = bodyOf(model, withPrompt(visit.form, visit.texts.playground.examplePrompt));
  const priced = { model: withPrices(model, prices), body, publicUrl: services.publicUrl };
  if (!isMedia(model)) return { ...priced, price: null, problem: null };
  try {
    return { ...priced, price: priceOf(parse(services, model, body), prices), problem: null };
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return { ...priced, price: null, problem: error };
  }
}

/** Validates the form by the schema of the API. @throws ServiceError `bad_request` */
function parse(services: ApiServices, model: MediaModel, body: JsonObject): CreateTaskRequest {
  return model.kind === 'image' ? services.tasks.parseImageRequest(body) : services.tasks.parseVideoRequest(body);
}

async function place(visit: MemberVisit, services: ApiServices, model: MediaModel): Promise<PageResult> {
  const request = parse(services, model, bodyOf(model, visit.form));
  const caller = await consoleCaller(visit, services);
  const checkLinks = model.kind === 'image' ? services.tasks.checkImageLinks : undefined;
  const placement = { caller, request, claim: null, requestId: visit.requestId };
  const { taskId } = await acceptTask(placement, services, checkLinks);
  if (visit.isPartRequest) {
    const task = await findOwnTask({ ...visit, params: { task_id: taskId } }, services);
    visit.context.set('HX-Trigger', PLACED);
    return showPart(<TaskResult task={task} />);
  }
  return { kind: 'redirect', path: `/accounts/${visit.account.accountId}/tasks/${taskId}`, done: null };
}

/** Shows the whole answer of a text model, for browsers without script. */
async function ask(visit: MemberVisit, services: ApiServices, model: TextModel): Promise<PageResult> {
  const { context, account, requestId } = visit;
  const caller = await consoleCaller(visit, services);
  const completion: unknown = JSON.parse(
    await answerChat(services, { context, caller, body: bodyOf(model, visit.form) }),
  );
  const usage = await findTextUsageOfRequest(services.database, account.accountId, requestId);
  return show(visit, services, model, { text: contentOf(completion), usage });
}

function isStreamRequested({ context }: MemberVisit): boolean {
  return context.get('accept').includes('text/event-stream');
}

/** Streams the answer of a text model to the script of the page. Errors have the form of the API. */
async function stream(visit: MemberVisit, services: ApiServices, model: PlaygroundModel | null): Promise<PageResult> {
  const { context, form } = visit;
  try {
    if (!model || isMedia(model)) throw badRequest('Only text models stream their answers.');
    const caller = await consoleCaller(visit, services);
    await streamChat(services, { context, caller, body: bodyOf(model, form) });
  } catch (error) {
    sendRefusal(visit, error);
  }
  return { kind: 'sent' };
}
