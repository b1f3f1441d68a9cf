/** The reader's saved views of the page, and a form that saves the filters in the address as a view, or deletes it. */
import { Field, Form } from './components.tsx';
import { usePage, useQuery } from './page-context.ts';

export function SavedViews() {
  const { session, texts, path: address, query: asked } = usePage();
  const queryWith = useQuery();
  const path = address.replace(/^\/console/, '');
  const query = queryWith({}).slice(1);
  const own = (session?.user.savedViews ?? []).filter((view) => view.path === path);
  const current = own.find((view) => view.query === query);
  if (own.length === 0 && asked.size === 0) return null;
  const messages = texts.views;
  return (
    <div class="choices views">
      {own.map((view) => (
        <a href={`${address}?${view.query}`} {...(view === current && { 'aria-current': 'true' })}>
          {view.name}
        </a>
      ))}
      {asked.size === 0 ? null : (
        <details>
          <summary>{current ? messages.delete : messages.save}</summary>
          <Form
            action={current ? '/console/views/delete' : '/console/views'}
            submit={current ? texts.common.delete : texts.common.save}
            look="quiet"
          >
            <input type="hidden" name="path" value={path} />
            <input type="hidden" name="query" value={query} />
            {current ? (
              <input type="hidden" name="view" value={current.name} />
            ) : (
              <Field name="view" label={texts.fields.name} required />
            )}
          </Form>
        </details>
      )}
    </div>
  );
}
