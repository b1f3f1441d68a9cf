import { createContext, useContext } from 'hono/jsx';
import type { Texts } from '../texts/texts.ts';

/** The texts in the language of whoever sees the page. */
export const TextsContext = createContext<Texts | null>(null);

/** For components: the texts of the page that is being drawn. */
export function useTexts(): Texts {
  const texts = useContext(TextsContext);
  if (texts === null) throw new Error('A component was called outside of a page. Write it as an element.');
  return texts;
}
