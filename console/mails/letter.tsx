/** The form of an e-mail: a sentence, one action and notes, as plain text and as HTML in the operator's look. */
import { renderToString } from 'hono/jsx/dom/server';
import type { Site } from '../../catalogue/site.ts';
import type { Texts } from '../texts/texts.ts';

export interface LetterTexts {
  readonly subject: string;
  /** What happened. Stands before the action. */
  readonly lead: string;
  /** The label of the link. */
  readonly action: string;
  readonly notes: readonly string[];
}

export interface Letter extends LetterTexts {
  readonly url: string;
  /** Stands between the lead and the action. */
  readonly code?: string | undefined;
  /** Whether each attempt to send the e-mail makes another link, which replaces the earlier one. */
  readonly replacesLink?: true;
}

interface Frame {
  readonly site: Site;
  readonly publicUrl: string;
  /** In the language of the receiver. */
  readonly texts: Texts;
  /** Whether people can switch the e-mail off. */
  readonly isNotice: boolean;
}

/** Returns the e-mail as plain text. */
export function renderText({ lead, code, url, notes }: Letter, frame: Frame): string {
  const foot = footOf(frame).map(({ label, href }) => `${label}: ${href.replace('mailto:', '')}`);
  const parts = [
    lead,
    ...(code === undefined ? [] : [code]),
    url,
    ...notes,
    ['-- ', frame.site.name, ...foot].join('\n'),
  ];
  return parts.map((part) => `${part}\n`).join('\n');
}

/** Returns the e-mail as HTML. Programs for e-mail load no style sheets, and show no pictures in SVG. */
export function renderHtml({ subject, lead, code, action, url, notes }: Letter, frame: Frame): string {
  const { site, publicUrl, texts } = frame;
  const logo = site.logo?.type === 'image/png' ? `${publicUrl}/console/assets/site-logo` : null;
  const button = `${BUTTON}background:${site.color ?? OWN_COLOR}`;
  const html = renderToString(
    <html lang={texts.language}>
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>{subject}</title>
      </head>
      <body style={BODY}>
        <div style={COLUMN}>
          <p style={BRAND}>
            {logo === null ? null : (
              <img src={logo} alt="" height={28} style="vertical-align:middle;margin-right:8px" />
            )}
            {site.name}
          </p>
          <div style={CARD}>
            <p style={PARAGRAPH}>{lead}</p>
            {code === undefined ? null : <pre style={CODE}>{code}</pre>}
            <p style={PARAGRAPH}>
              <a href={url} style={button}>
                {action}
              </a>
            </p>
            {notes.map((note) => (
              <p style={NOTE}>{note}</p>
            ))}
          </div>
          <p style={FOOT}>
            {footOf(frame).map(({ label, href }) => (
              <a href={href} style={FOOT_LINK}>
                {label}
              </a>
            ))}
          </p>
        </div>
      </body>
    </html>,
  );
  return `<!doctype html>${html}`;
}

/** The links below an e-mail: the operator's support, and the choice of notices. */
function footOf({ site: { support }, publicUrl, texts: { site, mail }, isNotice }: Frame) {
  const supportHref = support?.startsWith('https:') === false ? `mailto:${support}` : support;
  return [
    ...(supportHref === null ? [] : [{ label: site.support, href: supportHref }]),
    ...(isNotice ? [{ label: mail.choose, href: `${publicUrl}/console/profile` }] : []),
  ];
}

/** The color of buttons in the console. */
const OWN_COLOR = '#4338ca';
const BODY =
  "margin:0;padding:24px 12px;background:#f3f4f6;color:#1f2733;font:16px/1.5 -apple-system,'Segoe UI',Roboto,'Noto Sans SC',Arial,sans-serif";
const COLUMN = 'max-width:560px;margin:0 auto';
const BRAND = 'margin:0 0 16px;font-size:18px;font-weight:600';
const CARD = 'padding:24px;background:#ffffff;border:1px solid #dfe3e8;border-radius:8px';
const PARAGRAPH = 'margin:0 0 20px;overflow-wrap:anywhere';
const CODE =
  'margin:0 0 20px;padding:12px;background:#f3f4f6;font-size:13px;white-space:pre-wrap;overflow-wrap:anywhere';
const BUTTON =
  'display:inline-block;padding:10px 20px;color:#ffffff;border-radius:6px;text-decoration:none;font-weight:600;';
const NOTE = 'margin:0 0 8px;color:#566171;font-size:14px;overflow-wrap:anywhere';
const FOOT = 'margin:16px 0 0;font-size:13px';
const FOOT_LINK = 'color:#566171;margin-right:16px';
