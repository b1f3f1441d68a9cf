/** Fields and answers of text models. */
import type { TextModel } from '../../../catalogue/types.ts';
import type { TextUsage } from '../../../db/queries/usage.ts';
import { isObject } from '../../../domain/json.ts';
import { Field, Money } from '../../html/components.tsx';
import type { MemberVisit } from '../../page.ts';
import { useTexts } from '../../html/page-context.ts';

export interface WholeAnswer {
  readonly text: string;
  /** Null until the charge is recorded. */
  readonly usage: TextUsage | null;
}

export function ChatFields({ model, visit: { form, texts } }: { model: TextModel; visit: MemberVisit }) {
  const messages = texts.playground;
  return (
    <>
      <Field name="system" label={messages.system} hint={messages.systemHint} value={form.text('system')} lines={2} />
      <Field
        name="max_tokens"
        label={messages.maxTokens}
        {...(model.maxOutputTokens === null ? {} : { hint: messages.maxTokensHint(model.maxOutputTokens) })}
        inputMode="numeric"
        value={form.text('max_tokens')}
      />
    </>
  );
}

/** The card into which the page's script streams the answer. Without script, the card contains the whole answer. */
export function AnswerCard({ answer }: { answer: WholeAnswer | null }) {
  const texts = useTexts();
  return (
    <section class="card" id="answer" hidden={answer === null} aria-labelledby="answer-title">
      <h2 id="answer-title">{texts.playground.answer}</h2>
      <p class="answer soft" data-reasoning></p>
      <p class="answer" data-text aria-live="polite">
        {answer?.text ?? ''}
      </p>
      <div data-cost aria-live="polite">
        {answer?.usage ? <Cost usage={answer.usage} /> : null}
      </div>
    </section>
  );
}

/** The card in which the page's script lists the questions of the tab, which the server does not store. */
export function QuestionList() {
  const { playground: messages, tasks } = useTexts();
  return (
    <section
      class="card"
      id="asked"
      hx-preserve="true"
      hidden
      data-again={tasks.useAgain}
      aria-labelledby="asked-title"
    >
      <h2 id="asked-title">{messages.asked}</h2>
      <p class="hint">{messages.askedHint}</p>
      <div data-list></div>
    </section>
  );
}

export function Cost({ usage: { inputTokens, outputTokens, charged } }: { usage: TextUsage }) {
  const texts = useTexts();
  return (
    <p class="soft">
      {texts.playground.used(inputTokens, outputTokens)} <Money amount={charged} />
    </p>
  );
}

/** Returns the text of a chat completion, or an empty text. */
export function contentOf(completion: unknown): string {
  const [choice]: unknown[] = isObject(completion) && Array.isArray(completion['choices']) ? completion['choices'] : [];
  const message = isObject(choice) ? choice['message'] : null;
  const content = isObject(message) ? message['content'] : null;
  return typeof content === 'string' ? content : '';
}
