/** The check that a person fills a form. The script of its service runs on pages with the check only. */
import type { Captcha, CaptchaProvider } from '../../catalogue/signup.ts';
import { useTexts } from './page-context.ts';

interface CaptchaParts {
  readonly script: string;
  /** The origins of the script, its frames, styles and requests. */
  readonly origins: string;
  /** The class of the element that the script fills. */
  readonly element: string;
  /** The field of the form into which the script puts the token. */
  readonly field: string;
}

const PARTS: Readonly<Record<CaptchaProvider, CaptchaParts>> = {
  // https://developers.cloudflare.com/turnstile/reference/content-security-policy/
  turnstile: {
    script: 'https://challenges.cloudflare.com/turnstile/v0/api.js',
    origins: 'https://challenges.cloudflare.com',
    element: 'cf-turnstile',
    field: 'cf-turnstile-response',
  },
  // https://docs.hcaptcha.com/#content-security-policy-settings
  hcaptcha: {
    script: 'https://js.hcaptcha.com/1/api.js',
    origins: 'https://hcaptcha.com https://*.hcaptcha.com',
    element: 'h-captcha',
    field: 'h-captcha-response',
  },
};

/** Adds the service of a check to a content security policy. */
export function allowCaptcha(policy: string, provider: CaptchaProvider): string {
  const { origins } = PARTS[provider];
  const extended = policy.replaceAll(/(script-src|style-src|connect-src) 'self'/g, `$& ${origins}`);
  return `${extended}; frame-src ${origins}`;
}

/** The name of the form's field with the token. */
export function captchaField(provider: CaptchaProvider): string {
  return PARTS[provider].field;
}

export function CaptchaCheck({ captcha: { provider, siteKey } }: { captcha: Captcha }) {
  const { registration: messages } = useTexts();
  const { element, script } = PARTS[provider];
  return (
    <>
      <div class={element} data-sitekey={siteKey}></div>
      <script src={script} async defer></script>
      <noscript>
        <p class="hint">{messages.captchaNeedsScript}</p>
      </noscript>
    </>
  );
}
