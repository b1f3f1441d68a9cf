import type { Child } from 'hono/jsx';
import type { ServiceError } from '../../domain/errors.ts';
import { SentBeforeError } from '../form-problem.ts';
import { ProblemText } from './components.tsx';
import type { Texts } from '../texts/texts.ts';

interface Shown {
  readonly texts: Texts;
  readonly status: number;
  readonly error: ServiceError;
  readonly requestId: string;
  /** The address of the page with the sent form. */
  readonly formPage: string;
}

/** The content of an error page. */
export function ErrorContent({ texts: { errors, sentForms }, status, error, requestId, formPage }: Shown) {
  return (
    <section class="card" role="alert">
      <p>{messageFor(errors, status, error)}</p>
      {status >= 500 ? <code>{requestId}</code> : null}
      {error instanceof SentBeforeError ? (
        <p class="row">
          {error.outcome === '' ? null : <a href={`/console${error.outcome}`}>{sentForms.outcome}</a>}
          <a href={formPage}>{sentForms.newForm}</a>
        </p>
      ) : (
        <p>
          <a href="/console">{errors.back}</a>
        </p>
      )}
    </section>
  );
}

function messageFor(errors: Texts['errors'], status: number, error: ServiceError): Child {
  if (status === 404) return errors.notFound;
  if (status === 403) return errors.forbidden;
  return status >= 500 ? errors.failed : <ProblemText of={error} />;
}
