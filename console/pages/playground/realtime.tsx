/** A conversation by voice in the browser: the page's script opens a realtime session with a client secret. */
import type { ApiServices } from '../../../api/services.ts';
import type { TextModel } from '../../../catalogue/types.ts';
import type { JsonObject } from '../../../domain/json.ts';
import { normalizeOrigin } from '../../../domain/realtime.ts';
import { listModelsOf } from '../../../services/text/voice.ts';
import { FormError } from '../../form-problem.ts';
import { Choice, Field, Form, Problem } from '../../html/components.tsx';
import { useTexts } from '../../html/page-context.ts';
import { member, type MemberVisit, type PageResult, showPage } from '../../page.ts';
import { consoleCaller, sendRefusal } from './caller.ts';
import { pathOf } from './view.tsx';

const PATH = '/accounts/{account_id}/playground/realtime';
/** The page opens its session at once. */
const SECRET_SECONDS = 30;
const SESSION_SECONDS = 600;
/** The function that the page's script runs for the model. */
const TOOL = {
  type: 'function',
  name: 'local_time',
  description: 'Returns the date and the time where the user is.',
  parameters: { type: 'object', properties: {} },
};

export const realtimePages = [
  member.page(PATH, 'develop', (visit, { catalogue }) => {
    const { realtime: messages } = visit.texts.playground;
    const models = listModelsOf(catalogue, 'realtime');
    return showPage(
      messages.title,
      models.length === 0 ? (
        <Problem of={messages.notOffered} />
      ) : (
        <div class="grid">
          <StartForm models={models} path={`${pathOf(visit)}/realtime`} />
          <Conversation />
          <script src="/console/assets/realtime.js" type="module"></script>
        </div>
      ),
    );
  }),
  {
    ...member.form(PATH, 'develop', async (visit, services) => {
      try {
        visit.context.body = await createSecret(visit, services);
      } catch (error) {
        sendRefusal(visit, error);
      }
      const sent: PageResult = { kind: 'sent' };
      return sent;
    }),
    isRepeatable: true as const,
  },
];

/** @throws ServiceError */
async function createSecret(visit: MemberVisit, services: ApiServices): Promise<JsonObject> {
  const { context, form, texts } = visit;
  const model = listModelsOf(services.catalogue, 'realtime').find(({ id }) => id === form.text('model'));
  if (model === undefined) throw new FormError(texts.playground.noModel);
  const caller = await consoleCaller(visit, services);
  const instructions = form.text('instructions');
  const { value } = await services.text.realtime.secrets.create(caller, {
    model: model.id,
    session: { type: 'realtime', model: model.id, tools: [TOOL], ...(instructions !== '' && { instructions }) },
    endUser: null,
    seconds: SECRET_SECONDS,
    allowedOrigins: [normalizeOrigin(context.get('Origin')) ?? new URL(services.publicUrl).origin],
    transports: ['websocket'],
    sessionSeconds: SESSION_SECONDS,
  });
  return { value, model: model.id };
}

function StartForm({ models, path }: { models: readonly TextModel[]; path: string }) {
  const texts = useTexts();
  const messages = texts.playground.realtime;
  const [first] = models;
  return (
    <section class="card">
      <p class="soft">{messages.hint}</p>
      <noscript>
        <Problem of={messages.needsScript} />
      </noscript>
      <Form action={path} id="realtime">
        <Choice
          name="model"
          label={texts.fields.model}
          value={first?.id ?? ''}
          options={models.map(({ id }) => [id, id] as const)}
        />
        <Field name="instructions" label={messages.instructions} value={messages.exampleInstructions} lines={3} />
        <div class="row">
          <button type="submit">{messages.start}</button>
          <button type="button" class="quiet" data-stop hidden>
            {texts.playground.stop}
          </button>
        </div>
      </Form>
    </section>
  );
}

/** The card into which the script writes the conversation. */
function Conversation() {
  const messages = useTexts().playground.realtime;
  return (
    <section
      class="card"
      id="conversation"
      aria-labelledby="conversation-title"
      data-connecting={messages.connecting}
      data-listening={messages.listening}
      data-heard={messages.heard}
      data-ended={messages.ended}
      data-no-microphone={messages.noMicrophone}
      data-broken={messages.broken}
      data-you={messages.you}
      data-model={messages.model}
      data-tool={messages.tool}
    >
      <h2 id="conversation-title">{messages.conversation}</h2>
      <p class="soft" data-state aria-live="polite">
        {messages.notStarted}
      </p>
      <div data-problem></div>
      <div data-transcript role="log" aria-labelledby="conversation-title" tabindex={0}></div>
    </section>
  );
}
