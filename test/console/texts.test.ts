import { expect } from 'chai';
import { OWN_SITE } from '../../catalogue/site.ts';
import { preferredLanguage, textsIn } from '../../console/texts/texts.ts';
import { chinese } from '../../console/texts/zh.ts';

/** Names, which are the same in every language. */
const NAMES: ReadonlySet<string> = new Set(['Genway', 'Temporal', 'Webhook']);

/** Every sentence of a catalogue with its place; functions as their output for examples. */
function sentences(texts: object, place: readonly string[] = []): [string, string][] {
  return Object.entries(texts).flatMap(([name, value]: [string, unknown]): [string, string][] => {
    const here = [...place, name];
    const example: unknown = typeof value === 'function' ? value(2, 3, 4, 5, 6) : value;
    return typeof example === 'string' ? [[here.join('.'), example]] : sentences(Object(example), here);
  });
}

describe('the texts of the console', () => {
  it('are Chinese throughout in the Chinese catalogue, apart from names', () => {
    const foreign = sentences(chinese(OWN_SITE.name)).filter(
      ([, text]) => /[a-z]/i.test(text) && !/[\u3400-\u9fff]/.test(text) && !NAMES.has(text),
    );
    expect(foreign).to.deep.equal([['language', 'zh']]);
  });

  it('are in the language that a browser prefers, and in English where the console does not have it', () => {
    expect(preferredLanguage('zh-CN,zh;q=0.9,en;q=0.8', OWN_SITE)).to.equal('zh');
    expect(preferredLanguage('fr;q=0.9,zh;q=0.5,en;q=0.4', OWN_SITE)).to.equal('zh');
    expect(preferredLanguage('fr', OWN_SITE)).to.equal('en');
    expect(preferredLanguage('en', { languages: ['zh'] })).to.equal('zh');
    expect(textsIn('zh', OWN_SITE.name).signIn.submit).to.equal('登录');
    expect(textsIn('tlh', OWN_SITE.name).signIn.submit).to.equal('Sign in');
  });
});
