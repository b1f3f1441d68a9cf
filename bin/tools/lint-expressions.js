/**
 * A plugin of oxlint. The rule `linear` refuses regular expressions whose time grows faster than the text that they
 * search: such a text, from a client or a vendor, would stop the process.
 */
import { analyse } from 'scslre';

const REASONS = {
  Self: 'one repetition can match the same text in several ways',
  Trade: 'two repetitions can share the same text in several ways',
  Move: 'a repetition is tried again from each of its characters',
};

const linear = {
  create(context) {
    return {
      Literal(node) {
        if (!node.regex) return;
        const { pattern: source, flags } = node.regex;
        for (const { type, character } of analyse({ source, flags }, {}).reports) {
          const message = `Not linear in the searched text: ${REASONS[type]} (${character.literal.source}). Anchor the expression, or let neighbouring parts match different characters.`;
          context.report({ node, message });
        }
      },
    };
  },
};

export default { meta: { name: 'expressions' }, rules: { linear } };
