/** The price of a call, and the same call as code. Both change with the form. */
import type { JsonObject } from '../../../domain/json.ts';
import type { PicoUsd } from '../../../domain/money.ts';
import type { ServiceError } from '../../../domain/errors.ts';
import { ApiReference } from '../../html/api-reference.tsx';
import { Copyable, Money, ProblemText } from '../../html/components.tsx';
import { InOtherCurrency } from '../../html/other-currency.tsx';
import { examplesOf } from './calls.ts';
import { endpointOf, isMedia, type PlaygroundModel } from './models.ts';
import { useTexts } from '../../html/page-context.ts';

const TOKENS_PER_PRICE = 1_000_000n;
/** Larger bodies are not shown: each example contains the whole body twice. */
const MAX_BODY_SHOWN = 20_000;

export interface Priced {
  readonly model: PlaygroundModel;
  readonly body: JsonObject;
  readonly publicUrl: string;
  /** The price of a picture or video. Null for text, which is billed by the token, and for an incomplete form. */
  readonly price: PicoUsd | null;
  /** Why the form is invalid. */
  readonly problem: ServiceError | null;
}

interface Props {
  readonly priced: Priced;
}

/** Radio buttons choose the language without script, and stay while the code changes. */
export function PriceCard({ priced, path }: Props & { readonly path: string }) {
  const texts = useTexts();
  const languages = examplesOf({ url: '', body: {}, result: [] }).map(({ language }) => language);
  return (
    <fieldset class="card tabs">
      <legend>{texts.playground.sameCall}</legend>
      {languages.map((language, index) => (
        <>
          <input type="radio" name="language" id={`language-${index}`} checked={index === 0} autocomplete="off" />
          <label for={`language-${index}`}>{language}</label>
        </>
      ))}
      <div
        id="price"
        hx-post={`${path}/price`}
        hx-include="#playground"
        hx-trigger="change from:#playground, input delay:600ms from:#playground"
      >
        <PriceAndCalls priced={priced} />
      </div>
      <ApiReference tag={isMedia(priced.model) ? 'Media tasks' : 'Text'} />
    </fieldset>
  );
}

export function PriceAndCalls({ priced }: Props) {
  const texts = useTexts();
  const { model, body, publicUrl } = priced;
  const { path, result } = endpointOf(model);
  return (
    <>
      <div aria-live="polite">
        <Price priced={priced} />
      </div>
      {JSON.stringify(body).length > MAX_BODY_SHOWN ? (
        <p class="hint">{texts.playground.tooLongToShow}</p>
      ) : (
        examplesOf({ url: publicUrl + path, body, result }).map(({ language, code }) => (
          <div class="code">
            <Copyable text={code} label={texts.playground.sameCallIn(language)} lines />
          </div>
        ))
      )}
    </>
  );
}

function Price({ priced: { model, price, problem } }: Props) {
  const { playground: messages } = useTexts();
  if (!isMedia(model)) {
    const { input, output } = model.pricing.rates;
    if (model.free) return <p>{messages.free}</p>;
    return (
      <p>
        <Money amount={input * TOKENS_PER_PRICE} /> {messages.perInput} <Money amount={output * TOKENS_PER_PRICE} />{' '}
        {messages.perOutput}
      </p>
    );
  }
  if (price === null) return <p class="hint">{problem && <ProblemText of={problem} />}</p>;
  return (
    <>
      <p>
        <Money amount={price} /> {messages.perTask}
      </p>
      <InOtherCurrency amount={price} />
    </>
  );
}
