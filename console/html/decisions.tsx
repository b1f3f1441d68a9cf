/** The decisions about a request of one person, which needs a second person's approval. */
import { FormButton } from './components.tsx';
import { useMay, usePage } from './page-context.ts';

/** @param path the request's address, below which each decision has a form */
export function Decisions({ author, path }: { readonly author: string; readonly path: string }) {
  const { session, texts } = usePage();
  if (!useMay('moveMoney')) return <>–</>;
  const decisions = author === session?.user.email ? (['withdraw'] as const) : (['approve', 'reject'] as const);
  return (
    <div class="row">
      {decisions.map((decision) => (
        <FormButton
          action={`${path}/${decision}`}
          label={texts.corrections[decision]}
          look={decision === 'approve' ? '' : 'quiet'}
        />
      ))}
    </div>
  );
}
