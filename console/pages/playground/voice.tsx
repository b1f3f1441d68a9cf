/** Speech and transcripts in the browser: the page's script plays the file of an answer, and shows the text of another. */
import type { Child } from 'hono/jsx';
import { receiveAudio } from '../../../api/receive-audio.ts';
import type { ApiServices } from '../../../api/services.ts';
import { findTextUsageOfRequest, type TextUsage } from '../../../db/queries/usage.ts';
import { badRequest, ServiceError } from '../../../domain/errors.ts';
import { VOICE } from '../../../domain/policy.ts';
import { describePrices } from '../../../services/money/customer-prices.ts';
import { listModelsOf, streamSpeech, transcribe } from '../../../services/text/voice.ts';
import { FormError } from '../../form-problem.ts';
import { Choice, Field, Form, Money, Problem } from '../../html/components.tsx';
import { useTexts } from '../../html/page-context.ts';
import { InlinePrices } from '../../html/terms.tsx';
import { member, type MemberVisit, type PageResult, requireFound, showPage, showPart } from '../../page.ts';
import { findOwnPriceList } from '../own-account.ts';
import { consoleCaller, findRecordedUsage, sendRefusal } from './caller.ts';
import { pathOf } from './view.tsx';

const PATH = '/accounts/{account_id}/playground/voice';
const BYTES_PER_MB = 2 ** 20;

export const voicePages = [
  member.page(PATH, 'develop', async (visit, services) => {
    const { voice: messages } = visit.texts.playground;
    const prices = await findOwnPriceList(visit, services);
    const [speakers, listeners] = (['speech', 'transcriptions'] as const).map((format) =>
      listModelsOf(services.catalogue, format).map((model) => ({
        id: model.id,
        prices: describePrices(model, prices),
      })),
    );
    const path = `${pathOf(visit)}/voice`;
    return showPage(
      messages.title,
      <noscript>
        <Problem of={messages.needsScript} />
      </noscript>,
      <div class="grid">
        <SpeechForm models={speakers ?? []} path={path} />
        <TranscriptForm models={listeners ?? []} path={path} token={visit.session.formToken} />
        <script src="/console/assets/voice.js" type="module"></script>
      </div>,
    );
  }),
  {
    ...member.form(`${PATH}/speech`, 'develop', async (visit, services) => {
      const { context, form } = visit;
      try {
        const caller = await consoleCaller(visit, services);
        // Every upstream offers this format.
        const fields = { voice: form.text('voice'), input: form.text('input'), response_format: 'wav' };
        const body = { model: form.text('model'), ...fields };
        await streamSpeech(services, { context, caller, body });
      } catch (error) {
        sendRefusal(visit, error);
      }
      const sent: PageResult = { kind: 'sent' };
      return sent;
    }),
    isRepeatable: true as const,
  },
  {
    ...member.form(`${PATH}/transcript`, 'develop', async (visit, services) => {
      try {
        return showPart(<Transcript {...await readTranscript(visit, services)} />);
      } catch (error) {
        if (!(error instanceof ServiceError) || error.code === 'internal_error') throw error;
        return showPart(<Problem of={error} />, error.status);
      }
    }),
    receives: 'file' as const,
    isRepeatable: true as const,
  },
  member.page(`${PATH}/cost/{request_id}`, 'develop', async ({ account, params }, { database }) => {
    const usage = requireFound(await findRecordedUsage(database, account.accountId, params['request_id'] ?? ''));
    return showPart(<VoiceCost usage={usage} />);
  }),
];

interface ReadTranscript {
  readonly text: string;
  /** Null until the charge is recorded. */
  readonly usage: TextUsage | null;
}

/** @throws ServiceError */
async function readTranscript(visit: MemberVisit, services: ApiServices): Promise<ReadTranscript> {
  const { context, account, requestId, texts } = visit;
  const caller = await consoleCaller(visit, services);
  const check = (model: string): Promise<void> => services.text.check('transcriptions', model, caller);
  const { fields: body, audio, dispose } = await receiveAudio(context.req, account.accountId, check);
  try {
    if (audio === undefined) throw new FormError(texts.playground.voice.noFile);
    if (Object.keys(body).some((field) => field !== 'model')) throw badRequest('The form has unknown fields.');
    const text = await transcribe(services, { context, caller, body, audio });
    const usage = await findTextUsageOfRequest(services.database, account.accountId, requestId);
    return { text, usage };
  } finally {
    await dispose();
  }
}

interface PricedModel {
  readonly id: string;
  /** As text with decimals, by their names. */
  readonly prices: Readonly<Record<string, string>>;
}

/** @param name of the field, which is unique on the page */
function ModelOptions({ models, name }: { models: readonly PricedModel[]; name: string }) {
  const texts = useTexts();
  const [first] = models;
  const options = models.map(({ id }) => [id, id] as const);
  return (
    <>
      <Choice name={name} label={texts.fields.model} value={first?.id ?? ''} options={options} />
      {models.map(({ id, prices }) => (
        <div class="field" data-prices={id} hidden={id !== first?.id}>
          <InlinePrices prices={priceOfVoice(prices)} />
        </div>
      ))}
    </>
  );
}

/** Without prices of 0, such as of tokens where characters have the price, and without caches, which voice has none of. */
function priceOfVoice(prices: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(prices).filter(([name, price]) => Number(price) !== 0 && !/cache/.test(name)),
  );
}

interface FormProps {
  readonly models: readonly PricedModel[];
  readonly path: string;
}

function SpeechForm({ models, path }: FormProps) {
  const texts = useTexts();
  const messages = texts.playground.voice;
  if (models.length === 0) return null;
  return (
    <section class="card" aria-labelledby="speech-title">
      <h2 id="speech-title">{messages.speech}</h2>
      <Form
        action={`${path}/speech`}
        id="speech"
        data-cost-at={`${path}/cost/`}
        data-working={messages.speaking}
        data-broken={texts.playground.unanswered}
      >
        <ModelOptions models={models} name="model" />
        <Field name="voice" label={messages.voice} hint={messages.voiceHint} value="alloy" required />
        <Field name="input" label={messages.input} hint={messages.inputHint(VOICE.maxCharacters)} required lines={4} />
        <div class="row">
          <button type="submit">{messages.speak}</button>
        </div>
      </Form>
      <Outcome>
        <audio controls hidden aria-label={messages.speech}></audio>
      </Outcome>
    </section>
  );
}

function TranscriptForm({ models, path, token }: FormProps & { readonly token: string }) {
  const texts = useTexts();
  const messages = texts.playground.voice;
  if (models.length === 0) return null;
  return (
    <section class="card" aria-labelledby="transcript-title">
      <h2 id="transcript-title">{messages.transcript}</h2>
      <Form
        action={`${path}/transcript`}
        id="transcript"
        data-token={token}
        data-working={messages.listening}
        data-broken={texts.playground.unanswered}
      >
        <ModelOptions models={models} name="listener" />
        <div class="field">
          <label for="field-file">{messages.file}</label>
          <input
            id="field-file"
            name="file"
            type="file"
            accept="audio/*,video/mp4,video/webm"
            required
            data-max-bytes={String(VOICE.maxFileBytes)}
            data-too-large={messages.tooLarge(VOICE.maxFileBytes / BYTES_PER_MB)}
            aria-describedby="hint-file"
          />
          <p class="hint" id="hint-file">
            {messages.fileHint(VOICE.maxFileBytes / BYTES_PER_MB)}
          </p>
        </div>
        <div class="row">
          <button type="submit">{messages.listen}</button>
        </div>
      </Form>
      <Outcome />
    </section>
  );
}

/** Into which the script writes the result, its cost and problems. */
function Outcome({ children = null }: { readonly children?: Child }) {
  return (
    <div class="field">
      <p class="soft" data-state role="status"></p>
      <div data-problem></div>
      {children}
      <div data-result aria-live="polite"></div>
    </div>
  );
}

function Transcript({ text, usage }: ReadTranscript) {
  return (
    <>
      <p class="answer">{text}</p>
      {usage === null ? null : <VoiceCost usage={usage} />}
    </>
  );
}

/** The counts with a price, and the charge. */
function VoiceCost({ usage }: { usage: TextUsage }) {
  const { voice: messages, used } = useTexts().playground;
  const { characters, audioSeconds, inputTokens, outputTokens, charged } = usage;
  const counted = [
    ...(inputTokens + outputTokens > 0 ? [used(inputTokens, outputTokens)] : []),
    ...(inputTokens + outputTokens === 0 && characters > 0 ? [messages.characters(characters)] : []),
    ...(audioSeconds > 0 ? [messages.seconds(audioSeconds)] : []),
  ];
  return (
    <p class="soft">
      {counted.join(' ')} <Money amount={charged} />
    </p>
  );
}
