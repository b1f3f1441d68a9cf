/** The texts of the guide for developers, in Markdown. The facts come from the definitions of the API. */

/** The facts of the API as text, in the reader's language. */
export interface GuideFacts {
  readonly apiUrl: string;
  /** Whether strangers may register. */
  readonly isOpen: boolean;
  readonly idempotencyHours: number;
  readonly statuses: string;
  readonly imageSeconds: number;
  readonly videoSeconds: number;
  readonly fileMegabytes: number;
  readonly videoMegabytes: number;
  readonly taskEvents: string;
  readonly otherEvents: string;
  readonly headers: string;
  readonly attemptSeconds: number;
  readonly toleranceMinutes: number;
  readonly attempts: number;
  readonly waits: string;
  readonly maxWaitHours: number;
  readonly maxEndpoints: number;
  readonly taskCodes: string;
}

/** @param product the operator's name of the service */
export const guideEnglish = (product: string) => ({
  title: 'Documentation',
  description: `The first call to ${product}, keys, tasks, webhooks, errors and the settings of clients`,
  contents: 'Contents',
  format: 'Format',
  call: 'Call',
  places: 'Places of the key, the first counts',
  code: 'Code',
  status: 'Status',
  retry: 'Retry?',
  yes: 'yes',
  no: 'no',
  sections: {
    start: {
      title: 'Start in five minutes',
      text: ({
        isOpen,
      }: GuideFacts) => `1. ${isOpen ? '[Create an account](/console/register), or [sign in](/console)' : '[Sign in](/console)'} to ${product}. An account pays for its calls from its balance: top it up under *Billing*.
2. Create a key under *API keys*. ${product} shows the key once. Put it into your environment: \`export API_KEY=sk-…\`
3. Run the call below. Every [model](/models) has calls like this one in curl, Python and TypeScript.`,
    },
    authentication: {
      title: 'Authentication',
      text: ({
        apiUrl,
      }: GuideFacts) => `The address of the API is \`${apiUrl}\`. Send the key as \`Authorization: Bearer sk-…\`; the formats of other SDKs also accept the key where these SDKs send it.

Keep keys on servers that you trust, never in a browser or an app. A key can have a usage limit, an expiry, a list of models and a list of addresses; you set them in the console.`,
    },
    tasks: {
      title: 'Tasks: pictures and videos',
      text: (
        facts: GuideFacts,
      ) => `A picture or a video is a task. The create call reserves the price and answers at once with the task's \`id\`. A task has one of these statuses: ${facts.statuses}. A failed task costs nothing: its whole price returns to your balance.

Poll a picture every ${facts.imageSeconds} seconds and a video every ${facts.videoSeconds} seconds, or get a [webhook](#webhooks). The links to the files are in \`output.media\`.

Send an \`Idempotency-Key\` with every create call: for ${facts.idempotencyHours} hours the same key with the same request returns the same task, so that a retry never renders or pays twice.

Upload your own pictures with \`POST /v1/files\`: up to ${facts.fileMegabytes} MB, or ${facts.videoMegabytes} MB for a video.`,
    },
    webhooks: {
      title: 'Webhooks',
      text: (
        facts: GuideFacts,
      ) => `Register up to ${facts.maxEndpoints} https addresses in the console or with \`POST /v1/webhooks\`. An address gets the events ${facts.taskEvents}, and on request ${facts.otherEvents}.

Each delivery is a \`POST\` with these headers: ${facts.headers}. Verify the signature over the raw bytes of the body, refuse a timestamp more than ${facts.toleranceMinutes} minutes from your clock, and remember the event's \`id\`: an event can arrive twice.

Answer with any 2xx within ${facts.attemptSeconds} seconds. Otherwise ${product} tries again, ${facts.attempts} times in all, after these waits: ${facts.waits}. A \`Retry-After\` of your server lengthens a wait, up to ${facts.maxWaitHours} hours.`,
    },
    errors: {
      title: 'Errors',
      text: ({
        taskCodes,
      }: GuideFacts) => `An error has a \`code\` for your program and a \`message\` that says what to change. Quote the \`request_id\` to support. Text calls have the same codes in the envelope of their format.

Retry only codes with *yes*: after the seconds in \`Retry-After\`, otherwise with random, growing waits. A failed task has one of these codes: ${taskCodes}.`,
    },
    clients: {
      title: 'Settings of clients',
      text: () =>
        'Clients of the well-known APIs work after two settings, the address and the key. `sk-…` is your key, and `MODEL` the id of a [text model](/models?kind=text).',
    },
  },
});
