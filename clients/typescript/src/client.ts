/** The client: one object for each resource of the API. */
import { type BatchWaitOptions, CreatedBatch, readResults, waitForBatch } from './batches.ts';
import type { Bytes } from './bytes.ts';
import type { Events } from './events.ts';
import { type Call, type ClientOptions, Http, type RequestOptions } from './http.ts';
import { List, type Page } from './pages.ts';
import { CreatedTask, waitFor, type WaitOptions } from './tasks.ts';
import type * as types from './types.ts';
import { type Uploadable, uploadOf } from './uploads.ts';

interface Data<Value> {
  readonly data: Value;
}

export interface ListQuery {
  /** The number of items in a page. */
  readonly limit?: number;
}

/** A span of time: `from` is inclusive, `to` exclusive. */
interface Span {
  readonly from?: Date | string | number;
  readonly to?: Date | string | number;
}

export interface TaskQuery extends ListQuery, Span {
  readonly status?: types.Task['status'];
  readonly task_kind?: types.Task['task_kind'];
  readonly model?: string;
}

interface MediaRequest {
  readonly model: string;
  readonly prompt: string;
  /** Public HTTPS links, such as those of uploads. */
  readonly images?: readonly string[];
  readonly aspect_ratio?: string;
  readonly resolution?: string;
  /** Fields of the model's own: `capabilities.inspect` describes them. */
  readonly [parameter: string]: unknown;
}

export interface VideoRequest extends MediaRequest {
  /** In seconds. */
  readonly duration?: number;
  readonly reference_videos?: readonly string[];
  readonly reference_audios?: readonly string[];
}

export interface ImageRequest extends MediaRequest {
  /** Such as `1024x1024`, instead of `aspect_ratio` and `resolution`. */
  readonly size?: string;
  readonly background?: 'auto' | 'opaque' | 'transparent';
}

/** A request in the wire format of the call. The vendors' SDKs have types for its fields. */
interface TextBody {
  readonly model: string;
  readonly [field: string]: unknown;
}
interface RerankRequest {
  readonly model: string;
  readonly query: string;
  readonly documents: readonly (string | { readonly text: string })[];
  /** The number of documents in the answer; all by default. */
  readonly top_n?: number;
  readonly return_documents?: boolean;
  readonly [field: string]: unknown;
}

/** Genway's contract has the other fields, such as `instructions` and `speed`. */
interface SpeechRequest {
  readonly model: string;
  /** The text to speak. */
  readonly input: string;
  readonly voice: string | { readonly id: string };
  readonly response_format?: 'mp3' | 'opus' | 'aac' | 'flac' | 'wav' | 'pcm';
  readonly [field: string]: unknown;
}

interface TranscriptRequest {
  readonly model: string;
  readonly prompt?: string;
  /** The filename, whose extension tells the format of a stream or of bytes. */
  readonly name?: string;
  readonly [field: string]: unknown;
}
type TextFormat = { readonly response_format: 'text' | 'srt' | 'vtt' };
type Transcript = { readonly text: string } & Readonly<Record<string, unknown>>;

type GenerateBody = Readonly<Record<string, unknown>>;

export class Genway {
  readonly #http: Http;

  /** @throws TypeError without a key or a base URL */
  constructor(options: ClientOptions = {}) {
    this.#http = new Http(options);
  }

  readonly videos = {
    create: (request: VideoRequest, options?: RequestOptions) => this.#createTask('/v1/videos/tasks', request, options),
    list: (query: TaskQuery = {}, options?: RequestOptions) =>
      this.tasks.list({ ...query, task_kind: 'video' }, options),
  };

  readonly images = {
    create: (request: ImageRequest, options?: RequestOptions) => this.#createTask('/v1/images/tasks', request, options),
    list: (query: TaskQuery = {}, options?: RequestOptions) =>
      this.tasks.list({ ...query, task_kind: 'image' }, options),
  };

  readonly tasks = {
    get: (id: string, options?: RequestOptions) =>
      this.#get<types.Task>(`/v1/tasks/${encodeURIComponent(id)}`, options),
    list: (query?: TaskQuery, options?: RequestOptions) => this.#list<types.Task>('/v1/tasks', query, options),
    /** Ends a task that no model renders yet, and refunds it. @throws ConflictError when it is too late */
    cancel: (id: string, options?: RequestOptions) =>
      this.#data<types.Task>({ method: 'POST', path: `/v1/tasks/${encodeURIComponent(id)}/cancel` }, options),
    /** @throws TaskFailedError, WaitTimeoutError */
    wait: async (task: string | types.Task, options?: WaitOptions) =>
      this.#wait(typeof task === 'string' ? await this.tasks.get(task) : task, options),
  };

  readonly files = {
    /**
     * Uploads a file, whose `url` media requests take, or the input of a batch.
     *
     * @param file a path, a file, its bytes, or a stream of bytes
     */
    upload: async (
      file: Uploadable,
      { name, purpose, ...options }: RequestOptions & { readonly name?: string; readonly purpose?: 'batch' } = {},
    ) => {
      const upload = await uploadOf(file, name, { purpose });
      return this.#data<types.UploadedFile>({ method: 'POST', path: '/v1/files', ...upload }, options);
    },
    /** The content of a file of a batch, as it arrives. */
    content: (id: string, options?: RequestOptions) =>
      this.#http.bytes({ method: 'GET', path: `/v1/files/${encodeURIComponent(id)}/content` }, options),
    get: (id: string, options?: RequestOptions) =>
      this.#get<types.UploadedFile>(`/v1/files/${encodeURIComponent(id)}`, options),
    list: (query?: ListQuery, options?: RequestOptions) => this.#list<types.UploadedFile>('/v1/files', query, options),
    delete: (id: string, options?: RequestOptions) =>
      this.#data<types.DeletedFile>({ method: 'DELETE', path: `/v1/files/${encodeURIComponent(id)}` }, options),
  };

  readonly batches = {
    /** Creates a batch of the requests in a file with the purpose `batch`. */
    create: (request: types.CreateBatch, options?: RequestOptions) =>
      new CreatedBatch(
        this.#http.json<types.Batch>({ method: 'POST', path: '/v1/batches', body: request }, options),
        (batch, waiting) => this.batches.wait(batch, waiting),
      ),
    get: (id: string, options?: RequestOptions) =>
      this.#http.json<types.Batch>({ method: 'GET', path: `/v1/batches/${encodeURIComponent(id)}` }, options),
    list: (query?: ListQuery, options?: RequestOptions) => this.#list<types.Batch>('/v1/batches', query, options),
    /** Starts no further request. Requests in progress end, and are charged. */
    cancel: (id: string, options?: RequestOptions) =>
      this.#http.json<types.Batch>({ method: 'POST', path: `/v1/batches/${encodeURIComponent(id)}/cancel` }, options),
    /** @throws WaitTimeoutError */
    wait: async (batch: string | types.Batch, options?: BatchWaitOptions): Promise<types.Batch> =>
      waitForBatch(
        typeof batch === 'string' ? await this.batches.get(batch) : batch,
        (id, reading) => this.batches.get(id, reading),
        options,
      ),
    /** Each request of a batch that has ended, in any order: those with an answer first. */
    results: (batch: types.Batch, options?: RequestOptions) =>
      readResults([batch.output_file_id, batch.error_file_id], (id) => this.files.content(id, options)),
  };

  readonly webhooks = {
    /** The answer has the secret, which is not shown again. */
    create: (request: types.CreateWebhook, options?: RequestOptions) =>
      this.#data<types.Webhook>({ method: 'POST', path: '/v1/webhooks', body: request, takesKey: true }, options),
    get: (id: string, options?: RequestOptions) => this.#get<types.Webhook>(webhook(id), options),
    list: (query?: ListQuery, options?: RequestOptions) => this.#list<types.Webhook>('/v1/webhooks', query, options),
    update: (id: string, changes: types.UpdateWebhook, options?: RequestOptions) =>
      this.#data<types.Webhook>({ method: 'PATCH', path: webhook(id), body: changes }, options),
    delete: (id: string, options?: RequestOptions) =>
      this.#data<{ id: string; deleted: boolean }>({ method: 'DELETE', path: webhook(id) }, options),
    rotateSecret: (id: string, options?: RequestOptions) =>
      this.#data<types.Webhook>({ method: 'POST', path: `${webhook(id)}/rotate-secret` }, options),
    sendTest: (id: string, options?: RequestOptions) =>
      this.#data<types.Delivery>({ method: 'POST', path: `${webhook(id)}/test` }, options),
    deliveries: (id: string, query?: ListQuery & { status?: types.Delivery['status'] }, options?: RequestOptions) =>
      this.#list<types.Delivery>(`${webhook(id)}/deliveries`, query, options),
    redeliver: (id: string, deliveryId: string, options?: RequestOptions) =>
      this.#data<types.Delivery>(
        { method: 'POST', path: `${webhook(id)}/deliveries/${encodeURIComponent(deliveryId)}/redeliver` },
        options,
      ),
    /** Sends many deliveries again: those of events from `from` to `to`. While `has_more` is true, call it again. */
    redeliverMany: (
      id: string,
      span: Span & { readonly status?: types.Delivery['status'] },
      options?: RequestOptions,
    ) =>
      this.#data<{ count: number; left: number; has_more: boolean }>(
        { method: 'POST', path: `${webhook(id)}/redeliver`, body: span },
        options,
      ),
  };

  readonly models = {
    /** @param query.all whether to list the models that the key cannot call, too */
    list: async (query?: { readonly all?: boolean }, options?: RequestOptions) =>
      (
        await this.#http.json<Data<types.Model[]>>(
          { method: 'GET', path: '/v1/models', ...(query && { query }) },
          options,
        )
      ).data,
    get: (id: string, options?: RequestOptions) =>
      this.#http.json<types.Model>({ method: 'GET', path: `/v1/models/${encodeURIComponent(id)}` }, options),
  };

  readonly balance = {
    get: (options?: RequestOptions) => this.#get<types.Balance>('/v1/balance', options),
    update: (changes: types.UpdateBalance, options?: RequestOptions) =>
      this.#data<types.Balance>({ method: 'PATCH', path: '/v1/balance', body: changes }, options),
  };

  readonly usage = {
    /** By day, model and key, the newest day first. */
    days: (query?: Span, options?: RequestOptions) => this.#get<types.DailyUsage[]>('/v1/usage', options, query),
    /** By the end users whom text requests named, who was charged most first. */
    endUsers: (query?: Span, options?: RequestOptions) =>
      this.#get<types.EndUserUsage[]>('/v1/usage/end-users', options, query),
    /** Text requests, the newest first. */
    requests: (query?: ListQuery & Span & { api_key_id?: string; model?: string }, options?: RequestOptions) =>
      this.#list<types.TextRequest>('/v1/usage/requests', query, options),
  };

  readonly capabilities = {
    search: (request: types.SearchCapabilities, options?: RequestOptions) =>
      this.#data<types.FoundCapability[]>(
        { method: 'POST', path: '/v1/capabilities/search', body: request, isRead: true },
        options,
      ),
    inspect: (capabilityId: string, options?: RequestOptions) =>
      this.#data<types.Capability>(
        { method: 'POST', path: '/v1/capabilities/inspect', body: { capability_id: capabilityId }, isRead: true },
        options,
      ),
    run: (request: types.RunCapability, options?: RequestOptions) =>
      this.#data<Record<string, unknown>>(
        { method: 'POST', path: '/v1/capabilities/run', body: request, takesKey: true },
        options,
      ),
  };

  readonly chat = {
    completions: this.#text<types.ChatCompletion>('/v1/chat/completions'),
  };
  readonly responses = this.#text<types.ResponsesResponse>('/v1/responses');
  readonly messages = this.#text<types.Message>('/v1/messages', {
    'msgfmt-version': '2023-06-01',
  });

  readonly audio = {
    speech: {
      /** The bytes of the file while it is made. */
      create: (request: SpeechRequest, options?: RequestOptions): Promise<Bytes> =>
        this.#http.bytes({ method: 'POST', path: '/v1/audio/speech', body: request, isText: true }, options),
    },
    /** The text of speech. `create` takes a path, a file, its bytes, or a stream of bytes. */
    transcriptions: this.#listener('/v1/audio/transcriptions'),
    /** The same in English. */
    translations: this.#listener('/v1/audio/translations'),
  };

  /** The native format. With `stream: true`, the events of the answer. */
  generate(model: string, request: GenerateBody, options: RequestOptions & { stream: true }): Promise<Events>;
  generate(
    model: string,
    request: GenerateBody,
    options?: RequestOptions & { stream?: false },
  ): Promise<types.GenerateContentResponse>;
  async generate(
    model: string,
    body: GenerateBody,
    { stream, ...options }: RequestOptions & { stream?: boolean } = {},
  ): Promise<Events | types.GenerateContentResponse> {
    const path = `/v1beta/models/${encodeURIComponent(model)}`;
    const call = { method: 'POST', body, isText: true } as const;
    if (!stream) return this.#http.json({ ...call, path: `${path}:generateContent` }, options);
    const query = { alt: 'sse' };
    return this.#http.events({ ...call, path: `${path}:streamGenerateContent`, query }, options);
  }

  /** Ranks documents by a query, best first. */
  rerank(request: RerankRequest, options?: RequestOptions): Promise<types.RerankResponse> {
    return this.#http.json({ method: 'POST', path: '/v1/rerank', body: request, isText: true }, options);
  }

  #text<Answer>(path: string, headers: Readonly<Record<string, string>> = {}) {
    // Fields are set before the constructor has run.
    const http = (): Http => this.#http;
    function create(body: TextBody & { readonly stream: true }, options?: RequestOptions): Promise<Events>;
    function create(body: TextBody & { readonly stream?: false }, options?: RequestOptions): Promise<Answer>;
    async function create(body: TextBody, options?: RequestOptions): Promise<Events | Answer> {
      const call = { method: 'POST', path, body, isText: true } as const;
      const all = { ...options, headers: { ...headers, ...options?.headers } };
      return body['stream'] === true ? http().events(call, all) : http().json<Answer>(call, all);
    }
    return { create };
  }

  #listener(path: string) {
    const http = (): Http => this.#http;
    type Request = TranscriptRequest & { readonly stream?: false };
    function create(file: Uploadable, request: Request & TextFormat, options?: RequestOptions): Promise<string>;
    function create(
      file: Uploadable,
      request: TranscriptRequest & { readonly stream: true },
      options?: RequestOptions,
    ): Promise<Events>;
    function create(file: Uploadable, request: Request, options?: RequestOptions): Promise<Transcript>;
    async function create(
      file: Uploadable,
      { name, ...fields }: TranscriptRequest,
      options?: RequestOptions,
    ): Promise<Events | string | Transcript> {
      const call = { method: 'POST', path, isText: true, ...(await uploadOf(file, name, fields)) } as const;
      if (fields['stream'] === true) return http().events(call, options);
      const isText = ['text', 'srt', 'vtt'].some((format) => format === fields['response_format']);
      return isText ? http().text(call, options) : http().json<Transcript>(call, options);
    }
    return { create };
  }

  #createTask(path: string, body: MediaRequest, options?: RequestOptions): CreatedTask {
    const created = this.#data<types.Task>({ method: 'POST', path, body, takesKey: true }, options);
    return new CreatedTask(created, (task, waiting) => this.#wait(task, waiting));
  }

  #wait(task: types.Task, options?: WaitOptions): Promise<types.Task> {
    return waitFor(task, (id, reading) => this.tasks.get(id, reading), options);
  }

  #get<Value>(path: string, options?: RequestOptions, query?: object): Promise<Value> {
    return this.#data({ method: 'GET', path, ...(query && { query }) }, options);
  }

  async #data<Value>(call: Call, options?: RequestOptions): Promise<Value> {
    return (await this.#http.json<Data<Value>>(call, options)).data;
  }

  #list<Item>(path: string, query: object = {}, options?: RequestOptions): List<Item> {
    return new List((cursor) =>
      this.#http.json<Page<Item>>({ method: 'GET', path, query: { ...query, cursor } }, options),
    );
  }
}

const webhook = (id: string): string => `/v1/webhooks/${encodeURIComponent(id)}`;
