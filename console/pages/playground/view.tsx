/** The parts of the playground. Choosing another model replaces the fields, but keeps the prompt. */
import type { PicoUsd } from '../../../domain/money.ts';
import { isFinal, type Task } from '../../../domain/task.ts';
import { Card, Field, Form, Money, Polled, Problem } from '../../html/components.tsx';
import { usePage, useTexts } from '../../html/page-context.ts';
import { Chosen } from '../../html/resource-table.tsx';
import type { MemberVisit } from '../../page.ts';
import { DownloadLinks, Gallery, Result } from '../tasks/gallery.tsx';
import { ChatFields } from './chat.tsx';
import { MediaFields } from './media.tsx';
import { isMedia, type ModelGroups, type PlaygroundModel } from './models.ts';

/** The event after placing a task, on which the page reloads the latest runs. */
export const PLACED = 'placed';

export function LatestRuns({ tasks, path }: { tasks: readonly Task[]; path: string }) {
  const { playground: messages, tasks: taskMessages } = useTexts();
  const [latest] = tasks;
  const live = {
    'hx-get': path,
    'hx-select': '#latest',
    'hx-swap': 'outerHTML',
    'hx-trigger': `${PLACED} from:body`,
    // The parts that poll inside would otherwise select `#latest` in their own answers, and stay as they are.
    'hx-disinherit': '*',
  };
  return (
    <section id="latest" {...live}>
      {latest === undefined ? null : (
        <>
          <h2>{messages.latest}</h2>
          <Gallery tasks={tasks} accountId={latest.accountId} again={taskMessages.useAgain} />
        </>
      )}
    </section>
  );
}

export function pathOf({ account }: MemberVisit): string {
  return `/console/accounts/${account.accountId}/playground`;
}

interface ModelChoiceProps {
  readonly groups: ModelGroups;
  readonly model: PlaygroundModel | null;
  readonly path: string;
  readonly isDisabled: (id: string) => boolean;
}

/** @param model null if no model is enabled */
export function ModelChoice({ groups, model, path, isDisabled }: ModelChoiceProps) {
  const texts = useTexts();
  return (
    <form method="get" action={path} class="filters">
      <div class="field">
        <label for="field-model">{texts.fields.model}</label>
        <select
          id="field-model"
          name="model"
          autocomplete="off"
          hx-get={path}
          hx-select="#tried"
          hx-target="#tried"
          hx-swap="outerHTML"
          hx-push-url="true"
        >
          {groups.map(([kind, models]) => (
            <optgroup label={texts.playground.kinds[kind]}>
              {models.map(({ id }) => (
                <option value={id} selected={id === model?.id} disabled={isDisabled(id)}>
                  {isDisabled(id) ? texts.playground.disabledOption(id) : id}
                </option>
              ))}
            </optgroup>
          ))}
        </select>
      </div>
      <noscript>
        <button type="submit" class="quiet">
          {texts.playground.choose}
        </button>
      </noscript>
    </form>
  );
}

interface TryFormProps {
  readonly model: PlaygroundModel;
  readonly visit: MemberVisit;
  readonly path: string;
  /** Null until the price of the changed form is known. */
  readonly price: PicoUsd | null;
}

/** With script, the answer appears beside the form, and a refused form replaces itself. */
export function TryForm({ model, visit, path, price }: TryFormProps) {
  const { texts, form } = visit;
  const { problem } = usePage();
  const messages = texts.playground;
  const scripted = isMedia(model)
    ? { 'hx-post': path, 'hx-target': '#result', 'hx-sync': 'this:drop', 'data-unanswered': messages.unanswered }
    : { 'data-cost-at': `${path}/cost/`, 'data-broken': messages.broken };
  return (
    <section class="card" id="order">
      {visit.isPartRequest ? <Problem of={problem} /> : null}
      <Form action={path} id="playground" {...scripted}>
        <input type="hidden" name="model" value={model.id} />
        <div id="prompt" hx-preserve="true">
          <Field name="prompt" value={form.text('prompt')} required lines={5} />
        </div>
        {isMedia(model) ? <MediaFields model={model} visit={visit} /> : <ChatFields model={model} visit={visit} />}
        <div class="row">
          <button type="submit">{isMedia(model) ? texts.common.create : messages.send}</button>
          <OrderPrice price={price} />
          {isMedia(model) ? null : (
            <button type="button" class="quiet" data-stop hidden>
              {messages.stop}
            </button>
          )}
          <noscript>
            <button type="submit" class="quiet" formaction={`${path}/price`}>
              {messages.showPrice}
            </button>
          </noscript>
        </div>
      </Form>
    </section>
  );
}

/** The price beside the button. @param isUpdate whether it replaces the price on the page */
export function OrderPrice({ price, isUpdate = false }: { price: PicoUsd | null; isUpdate?: boolean }) {
  return (
    <span id="order-price" {...(isUpdate && { 'hx-swap-oob': 'true' })}>
      {price === null ? null : <Money amount={price} />}
    </span>
  );
}

/** The browser polls this result until the task is final. The answer is empty while the status stays the same. */
export function TaskResult({ task }: { task: Task }) {
  const { playground: messages, common } = useTexts();
  const account = `/console/accounts/${task.accountId}`;
  const path = `${account}/playground/tasks/${task.id}?shown=${task.status}`;
  return (
    <Polled path={path} seconds={2} isFinal={isFinal(task.status)}>
      <Card title={common.result}>
        <div class="result">
          <Result task={task} controls />
        </div>
        {task.failure === null ? null : <p>{task.failure.message}</p>}
        <p class="row">
          <Chosen name="status" value={task.status} />
          {task.status === 'failed' ? null : <Money amount={task.price} />}
          <DownloadLinks task={task} />
          <a href={`${account}/tasks/${task.id}`}>{messages.openTask}</a>
        </p>
      </Card>
    </Polled>
  );
}
