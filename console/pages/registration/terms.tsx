/** The documents that a stranger accepts. */
import type { SiteDocument } from '../../../catalogue/site.ts';
import { Check } from '../../html/components.tsx';
import { usePage, useTexts } from '../../html/page-context.ts';
import type { Visit } from '../../page.ts';

/** A box to tick, if the operator has terms. Sends the version that the reader sees. */
export function AcceptTerms() {
  const { site } = usePage();
  const { registration: messages, site: names } = useTexts();
  const terms = termsOf({ site });
  if (terms === undefined) return null;
  const label = (
    <>
      {messages.accept}{' '}
      {site.documents.map(({ name }, index) => (
        <>
          {index === 0 ? '' : ', '}
          <a href={`/${name}`} target="_blank">
            {names[name]}
          </a>
        </>
      ))}
    </>
  );
  return <Check name="terms" value={terms.version} label={label} isChecked={false} />;
}

/** The version that the visitor accepts: null if the operator has no terms, false if the current version is not accepted. */
export function acceptedVersion(visit: Visit): string | null | false {
  const terms = termsOf(visit);
  if (terms === undefined) return null;
  return visit.form.exact('terms') === terms.version && terms.version;
}

function termsOf({ site }: Pick<Visit, 'site'>): SiteDocument | undefined {
  return site.documents.find(({ name }) => name === 'terms');
}
