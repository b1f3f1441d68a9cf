/** Written by `npm run clients:types` from the API description. */

/** A requested image or video. */
export type Task = {
  id: string;
  object: 'task';
  task_kind: 'image' | 'video';
  /** The model id as sent */
  capability_id: string;
  /** The contract version of the model */
  capability_version: number | null;
  media_type: 'image' | 'video';
  /** The model id as sent */
  model: string;
  /** The status. Only `succeeded` and `failed` are final */
  status: 'queued' | 'processing' | 'succeeded' | 'failed';
  /** The same as `status`, for older clients */
  stage: 'queued' | 'processing' | 'succeeded' | 'failed';
  /** When the task was created, in Unix seconds */
  created_at: number;
  /** When the task last changed, in Unix seconds */
  updated_at: number;
  /** When the task ended, in Unix seconds. Null while running */
  completed_at: number | null;
  /** The time before the next poll, in seconds. Only while running */
  poll_after_seconds?: number;
  /** The durations of recent tasks of the model. Only while running, and with enough samples */
  typical_seconds?: {
    /** The median duration, in seconds */
    p50: number;
    /** The 90th percentile of the durations, in seconds */
    p90: number;
    /** The number of tasks in the sample */
    samples: number;
  };
  output: TaskOutput | null;
  usage: {
    /** The amount reserved at creation, in USD */
    credits_reserved: number;
    /** The price of the task, in USD. 0 if the task failed */
    credits_charged: number;
    /** The amount charged, in USD. 0 unless the task succeeded */
    credits_settled: number;
    /** The amount refunded, in USD. 0 unless the task failed */
    credits_refunded: number;
    /** The seconds that determine the price. Only for videos */
    billable_duration_seconds?: number;
    /** The version of the account’s price list. Absent if the catalogue’s prices applied */
    price_list?: string;
  };
  /** The id of the create request. Quote the id to support */
  request_id: string;
  /** The batch whose line created the task. Absent for a direct create */
  batch_id?: string;
  /** The end user. Absent if the create call names none, or the name is erased */
  end_user?: string;
  /** Null unless failed */
  error_code:
    | 'content_policy_violation'
    | 'bad_request'
    | 'processing_unavailable'
    | 'processing_timeout'
    | 'processing_failed'
    | 'result_transfer_failed'
    | null;
  /** The cause and the remedy. Null unless failed */
  error_message: string | null;
  /** Whether the same request can succeed later. Only if failed */
  retryable?: boolean;
};

export type TaskOutput = {
  media: {
    type: 'image' | 'video';
    /** The link to the stored file. Download the file and keep it */
    url: string;
    mime_type: string;
    /** In pixels. Only for images */
    width?: number;
    /** In pixels. Only for images */
    height?: number;
  }[];
  /** The first file, for older clients. Use `media` */
  r2_url: string | null;
};

export type Batch = {
  id: string;
  object: 'batch';
  endpoint:
    | '/v1/chat/completions'
    | '/v1/responses'
    | '/v1/messages'
    | '/v1/embeddings'
    | '/v1/videos/tasks'
    | '/v1/images/tasks';
  errors: {
    object: 'list';
    data: {
      code: string;
      message: string;
      /** The number of the line, from 1. Null for an error of the whole file */
      line: number | null;
      /** The field of the line */
      param: string | null;
    }[];
  } | null;
  input_file_id: string;
  completion_window: string;
  status: 'validating' | 'failed' | 'in_progress' | 'finalizing' | 'completed' | 'expired' | 'cancelling' | 'cancelled';
  /** The file with the answers. Null before the end */
  output_file_id: string | null;
  /** The file with the requests that have no answer. Null before the end */
  error_file_id: string | null;
  /** When the batch was created, in Unix seconds */
  created_at: number;
  /** When the requests started, in Unix seconds */
  in_progress_at: number | null;
  /** When requests stop to start, in Unix seconds */
  expires_at: number;
  /** When the last request ended, in Unix seconds */
  finalizing_at: number | null;
  /** When the batch became `completed`, in Unix seconds */
  completed_at: number | null;
  /** When the batch became `failed`, in Unix seconds */
  failed_at: number | null;
  /** When the batch became `expired`, in Unix seconds */
  expired_at: number | null;
  /** When the batch was asked to stop, in Unix seconds */
  cancelling_at: number | null;
  /** When the batch became `cancelled`, in Unix seconds */
  cancelled_at: number | null;
  request_counts: {
    total: number;
    /** The requests with an answer */
    completed: number;
    /** The requests without an answer, including those that never ran */
    failed: number;
  };
  /** The error code for which no request starts, such as `insufficient_credits`; `processing_unavailable` while the operator pauses the batch. The batch goes on by itself */
  paused_reason: string | null;
  metadata: Record<string, string> | null;
};

export type CreateBatch = {
  /** A file that was uploaded with the purpose `batch` */
  input_file_id: string;
  /** The endpoint of all requests in the file */
  endpoint:
    | '/v1/chat/completions'
    | '/v1/responses'
    | '/v1/messages'
    | '/v1/embeddings'
    | '/v1/videos/tasks'
    | '/v1/images/tasks';
  /** How long requests may start */
  completion_window: '24h';
  /** Your own keys and values */
  metadata?: {} | null;
  /** Accepted without effect */
  output_expires_after?: {} | null;
};

export type UploadedFile = {
  id: string;
  object: 'file';
  /** The link to pass in media requests. Of a batch’s file, the address of its content, which needs a key */
  url: string;
  /** The type, detected from the content */
  mime_type: string;
  bytes: number;
  /** The use of the file: media tasks, the input or the output of a batch */
  purpose: 'user_data' | 'batch' | 'batch_output';
  status: 'processed';
  /** When the file was uploaded, in Unix seconds */
  created_at: number;
  /** The client’s file name */
  filename: string | null;
  /** When a task or batch first used the file, in Unix seconds. Null if none has */
  used_at: number | null;
  /** When the file is deleted: 30 days after its creation for a batch’s file, in Unix seconds. Null for a file that a task has used */
  expires_at: number | null;
};

export type DeletedFile = {
  id: string;
  object: 'file';
  deleted: boolean;
};

export type Model = VideoModel | ImageModel | TextModel;

export type VideoModel = {
  /** The exact, case-sensitive value for `model` in requests */
  id: string;
  object: 'model';
  /** The date of the catalogue’s version, in Unix seconds */
  created: number;
  owned_by: string;
  /** The reason why the key cannot call the model */
  unavailable_reason?: 'not_allowed' | 'top_up_required' | 'disabled' | 'no_route';
  kind: 'video';
  endpoint: '/v1/videos/tasks';
  capability_version: number | null;
  limits: {
    prompt_characters: {
      min: number;
      max: number;
    };
    duration_seconds: {
      min: number;
      max: number;
      default: number;
      /** The available durations, if not all from `min` to `max` are */
      values?: number[];
    };
    images: {
      min: number;
      max: number;
    };
    reference_videos: {
      min: number;
      max: number;
    };
    reference_audios: {
      min: number;
      max: number;
    };
    aspect_ratios: string[];
    resolutions: string[];
  };
  /** The JSON Schema of each input field specific to this model */
  parameters: Record<string, unknown>;
  prices: {
    unit: 'second' | 'video';
    by_resolution: Record<string, number>;
    modifiers: {
      /** The values that request fields must have */
      when: Record<string, unknown>;
      /** The amount added to the price of a unit, in USD */
      addition: number;
      /** The factor that multiplies the sum */
      factor: number;
    }[];
  };
};

export type ImageModel = {
  /** The exact, case-sensitive value for `model` in requests */
  id: string;
  object: 'model';
  /** The date of the catalogue’s version, in Unix seconds */
  created: number;
  owned_by: string;
  /** The reason why the key cannot call the model */
  unavailable_reason?: 'not_allowed' | 'top_up_required' | 'disabled' | 'no_route';
  kind: 'image';
  endpoint: '/v1/images/tasks';
  capability_version: number | null;
  limits: {
    images: {
      min: number;
      max: number;
    };
    aspect_ratios: string[];
    resolutions: string[];
    backgrounds: string[];
  };
  /** The JSON Schema of each input field specific to this model */
  parameters: Record<string, unknown>;
  prices: {
    unit: 'image';
    by_resolution: Record<string, number>;
    modifiers: {
      /** The values that request fields must have */
      when: Record<string, unknown>;
      /** The amount added to the price of a unit, in USD */
      addition: number;
      /** The factor that multiplies the sum */
      factor: number;
    }[];
  };
};

export type TextModel = {
  /** The exact, case-sensitive value for `model` in requests */
  id: string;
  object: 'model';
  /** The date of the catalogue’s version, in Unix seconds */
  created: number;
  owned_by: string;
  /** The reason why the key cannot call the model */
  unavailable_reason?: 'not_allowed' | 'top_up_required' | 'disabled' | 'no_route';
  kind: 'text';
  family: string;
  /** The formats that serve the model. `embeddings` or `rerank` for a model with this kind of request only */
  formats: (
    | 'chat-completions'
    | 'responses'
    | 'messages'
    | 'generate-content'
    | 'embeddings'
    | 'rerank'
    | 'speech'
    | 'transcriptions'
    | 'translations'
    | 'realtime'
  )[];
  /** What answers may have. Absent for models of embeddings, of voice and of realtime sessions */
  output_modalities?: ('text' | 'audio')[];
  /** Whether the model may reason before the answer */
  reasoning: boolean;
  /** Whether tokens are free of charge */
  free: boolean;
  /** Whether the id is an older one that still works */
  legacy: boolean;
  limits: {
    context_tokens: number | null;
    max_output_tokens: number | null;
  };
  prices: {
    unit: '1M tokens';
    /** The price of input tokens, in USD */
    input: number;
    /** The price of output tokens, in USD */
    output: number;
    /** The price of input tokens read from the cache, in USD */
    cached_input: number;
    /** The price of input tokens written to the cache, in USD */
    cache_write: number;
    /** The price of input tokens cached for an hour, in USD. Absent if the model does not offer this */
    cache_write_1h?: number;
    /** The price of input tokens that are audio, in USD. Absent if it is that of other input */
    audio_input?: number;
    /** The price of audio tokens read from the cache, in USD. Absent if it is that of other cached input */
    cached_audio_input?: number;
    /** The price of output tokens that are audio, in USD. Absent if it is that of other output */
    audio_output?: number;
    /** The price of 1M characters to speak, in USD. Absent if they are free */
    character?: number;
    /** The price of a second of spoken or transcribed audio, in USD. Absent if it is free */
    audio_second?: number;
    /** The price of a search of the web, in USD. Absent if the model offers none */
    web_search?: number;
    /** The price of a search that ranks up to 100 documents, in USD. Absent if it is free */
    search_unit?: number;
    tiers: {
      /** The threshold in input tokens */
      threshold_tokens: number;
      /** `over`: applies above the threshold; `at_or_over`: applies from the threshold */
      applies: 'over' | 'at_or_over';
      /** The factor for the price of the whole request */
      factor: number;
    }[];
    peaks: {
      /** The time zone of the windows, in minutes from UTC */
      utc_offset_minutes: number;
      days: string[];
      windows: {
        /** HH:MM */
        from: string;
        /** HH:MM */
        to: string;
      }[];
      /** The factor for the price */
      factor: number;
    }[];
  };
};

export type Balance = {
  object: 'balance';
  /** The available balance, in USD */
  available_usd: number;
  /** The paid part of the balance, in USD */
  funded_usd: number;
  /** The granted part of the balance, in USD */
  signup_usd: number;
  /** The granted part that expires, in USD. Spent first */
  promo_usd: number;
  /** When the first of `promo_usd` expires, in Unix seconds. Null if `promo_usd` is 0 */
  promo_expires_at: number | null;
  /** The amount held for running tasks and requests, in USD */
  reserved_usd: number;
  /** The threshold of `account.balance_low`, in USD. Null for no event */
  low_balance_usd: number | null;
  /** Whether the account has ever topped up, which unlocks all models */
  topped_up: boolean;
  key: {
    id: string;
    /** The total charged to and held for the calling key, in USD */
    used_usd: number;
    /** The maximum that the key may spend, in USD. Null for no limit */
    usage_limit_usd: number | null;
    /** The period after which the limit renews. Null for a limit of all time */
    limit_period: 'day' | 'week' | 'month' | null;
    /** The amount charged or held in this period, in USD */
    used_of_limit_usd: number;
    /** When the limit renews next, in Unix seconds. Null for never */
    renews_at: number | null;
  };
};

export type UpdateBalance = {
  /** The threshold of the event `account.balance_low`. Null for no event */
  low_balance_usd: number | string | null;
};

/** The usage of one model by one key on one day. */
export type DailyUsage = {
  object: 'daily_usage';
  /** The day, in UTC */
  date: string;
  kind: 'image' | 'video' | 'text';
  /** The model */
  model: string;
  api_key_id: string;
  /** The number of requests and tasks that succeeded */
  requests: number;
  /** The number of requests and tasks that failed, free of charge */
  failed: number;
  /** The input tokens, cached or not */
  input_tokens: number;
  /** The input tokens read from a cache */
  cache_read_tokens: number;
  /** The input tokens written to a cache */
  cache_write_tokens: number;
  /** The part of `cache_write_tokens` kept for an hour */
  cache_write_1h_tokens: number;
  /** The output tokens, reasoning included */
  output_tokens: number;
  /** The part of `input_tokens` that is audio, cached or not */
  audio_input_tokens: number;
  /** The part of `cache_read_tokens` that is audio */
  audio_cache_read_tokens: number;
  /** The part of `output_tokens` that is audio */
  audio_output_tokens: number;
  /** The characters of the text to speak */
  characters: number;
  /** The seconds of audio that were spoken or transcribed, each request rounded up */
  audio_seconds: number;
  /** The searches of the web that answers needed */
  web_searches: number;
  /** The searches by which documents were ranked */
  search_units: number;
  /** The length of the videos, in seconds */
  billable_duration_seconds: number;
  /** The amount charged, in USD */
  charged_usd: number;
};

/** The usage of one end user. */
export type EndUserUsage = {
  object: 'end_user_usage';
  /** The end user’s name in requests */
  end_user: string;
  /** The number of requests and tasks that succeeded */
  requests: number;
  /** The number of requests and tasks that failed, free of charge */
  failed: number;
  /** The input tokens, cached or not */
  input_tokens: number;
  /** The input tokens read from a cache */
  cache_read_tokens: number;
  /** The input tokens written to a cache */
  cache_write_tokens: number;
  /** The part of `cache_write_tokens` kept for an hour */
  cache_write_1h_tokens: number;
  /** The output tokens, reasoning included */
  output_tokens: number;
  /** The part of `input_tokens` that is audio, cached or not */
  audio_input_tokens: number;
  /** The part of `cache_read_tokens` that is audio */
  audio_cache_read_tokens: number;
  /** The part of `output_tokens` that is audio */
  audio_output_tokens: number;
  /** The characters of the text to speak */
  characters: number;
  /** The seconds of audio that were spoken or transcribed, each request rounded up */
  audio_seconds: number;
  /** The searches of the web that answers needed */
  web_searches: number;
  /** The searches by which documents were ranked */
  search_units: number;
  /** The amount charged, in USD */
  charged_usd: number;
};

/** A finished text request. */
export type TextRequest = {
  /** When the request started, in Unix seconds */
  created_at: number;
  id: string;
  object: 'text_request';
  /** The `x-request-id` of the answer */
  request_id: string;
  api_key_id: string;
  /** The model */
  model: string;
  /** The wire format */
  format: string;
  /** Whether the answer was a stream */
  stream: boolean;
  /** The outcome. A client that disconnects pays for the produced tokens; a failed request is free */
  outcome: 'succeeded' | 'disconnected' | 'failed';
  /** The error code. Null if the request did not fail */
  error_code: string | null;
  /** The catalogue version that set the price */
  rates_version: string;
  /** The version of the account’s price list. Null if the catalogue’s prices applied */
  price_list: string | null;
  /** The input tokens, cached or not */
  input_tokens: number;
  /** The input tokens read from a cache */
  cache_read_tokens: number;
  /** The input tokens written to a cache */
  cache_write_tokens: number;
  /** The part of `cache_write_tokens` kept for an hour */
  cache_write_1h_tokens: number;
  /** The output tokens, reasoning included */
  output_tokens: number;
  /** The part of `input_tokens` that is audio, cached or not */
  audio_input_tokens: number;
  /** The part of `cache_read_tokens` that is audio */
  audio_cache_read_tokens: number;
  /** The part of `output_tokens` that is audio */
  audio_output_tokens: number;
  /** The characters of the text to speak */
  characters: number;
  /** The seconds of audio that were spoken or transcribed, rounded up */
  audio_seconds: number;
  /** The searches of the web that the answer needed */
  web_searches: number;
  /** The searches by which documents were ranked */
  search_units: number;
  /** The reasoning tokens. Null if the upstream does not report them */
  reasoning_tokens: number | null;
  /** The end user. Null if the request names none, or the name is erased */
  end_user: string | null;
  /** The batch that the request belongs to. Null for a direct request */
  batch_id: string | null;
  /** Whether Genway counted the tokens, because the upstream did not */
  estimated: boolean;
  price_modifiers: {
    kind: 'tier' | 'peak' | 'batch';
    /** The factor that multiplied every rate */
    factor: string;
  }[];
  /** The amount charged, in USD */
  charged_usd: number;
  /** The time until the end, in milliseconds */
  latency_ms: number | null;
  /** The time until the first byte of the answer, in milliseconds */
  first_byte_ms: number | null;
};

/** An address that receives events. */
export type Webhook = {
  id: string;
  object: 'webhook_endpoint';
  /** The address that receives events */
  url: string;
  /** A label for your own use */
  description: string | null;
  events: (
    | 'task.succeeded'
    | 'task.failed'
    | 'task.late_result'
    | 'account.balance_low'
    | 'batch.completed'
    | 'batch.failed'
    | 'batch.expired'
    | 'batch.cancelled'
    | 'batch.paused'
  )[];
  /** The secret that signs deliveries. Shown only when created or replaced */
  secret?: string;
  /** Whether events are sent */
  enabled: boolean;
  /** When the endpoint was disabled, in Unix seconds. Null if enabled */
  disabled_at: number | null;
  /** Why the endpoint is disabled. Null if enabled */
  disabled_reason: string | null;
  /** When deliveries started to fail, in Unix seconds. Null if none fails */
  failing_since: number | null;
  /** When the endpoint was created, in Unix seconds */
  created_at: number;
  /** When the endpoint last changed, in Unix seconds */
  updated_at: number;
};

export type CreateWebhook = {
  /** The public HTTPS address that receives events */
  url: string;
  /** A label for your own use */
  description?: string | null;
  /** The events to deliver. By default, `task.succeeded` and `task.failed` */
  events?: (
    | 'task.succeeded'
    | 'task.failed'
    | 'task.late_result'
    | 'account.balance_low'
    | 'batch.completed'
    | 'batch.failed'
    | 'batch.expired'
    | 'batch.cancelled'
    | 'batch.paused'
  )[];
};

export type UpdateWebhook = {
  /** The public HTTPS address that receives events */
  url?: string;
  /** A label for your own use */
  description?: string | null;
  /** The events to deliver. By default, `task.succeeded` and `task.failed` */
  events?: (
    | 'task.succeeded'
    | 'task.failed'
    | 'task.late_result'
    | 'account.balance_low'
    | 'batch.completed'
    | 'batch.failed'
    | 'batch.expired'
    | 'batch.cancelled'
    | 'batch.paused'
  )[];
  /** False stops deliveries; true resumes them and clears past failures */
  enabled?: boolean;
};

/** The delivery of one event to one endpoint. */
export type Delivery = {
  id: string;
  object: 'webhook_delivery';
  /** The id of the endpoint */
  webhook_id: string;
  event_id: string;
  /** `task.succeeded`, `task.failed`, `task.late_result`, `account.balance_low` or `endpoint.test` */
  event: string;
  /** The id of the task. Null if the event has no task */
  task_id: string | null;
  status: 'pending' | 'delivered' | 'failed';
  attempts: {
    /** The number of the attempt, from 1 */
    number: number;
    /** When the attempt started, in Unix seconds */
    started_at: number;
    /** The time until the answer or the timeout, in milliseconds */
    latency_ms: number;
    /** The HTTP status of the answer. Null if there was no answer */
    http_status: number | null;
    /** The reason why there was no valid answer. Null if there was one */
    error: string | null;
  }[];
  /** When the next attempt starts, in Unix seconds. Null if none is planned */
  next_attempt_at: number | null;
  /** When the event happened, in Unix seconds */
  created_at: number;
  /** When the last attempt ended, in Unix seconds. Null while pending */
  completed_at: number | null;
};

/** An event, with the task at that moment. */
export type TaskEvent = {
  id: string;
  object: 'event';
  type: 'task.succeeded' | 'task.failed';
  /** When the event happened, in Unix seconds */
  created_at: number;
  data: Task;
};

export type LowBalanceEvent = {
  id: string;
  object: 'event';
  type: 'account.balance_low';
  /** When Genway found the low balance, in Unix seconds */
  created_at: number;
  data: {
    object: 'balance';
    account_id: string;
    /** The available balance, in USD */
    available_usd: number;
    /** The amount held for running tasks and requests, in USD */
    reserved_usd: number;
    /** The threshold above the sum of both amounts, in USD */
    low_balance_usd: number;
  };
};

export type TestEvent = {
  id: string;
  object: 'event';
  type: 'endpoint.test';
  /** When the test was requested, in Unix seconds */
  created_at: number;
  data: {
    id: string;
    object: 'webhook_endpoint';
    url: string;
  };
};

export type SearchCapabilities = {
  /** The task in your own words */
  query?: string;
  /** Filters by kind */
  kind?: 'video' | 'image' | 'text';
  /** The highest price of the model’s example, in USD */
  max_price_usd?: number;
  /** The maximum of results. By default, 5 */
  limit?: number;
};

export type FoundCapability = {
  /** The id of the model */
  capability_id: string;
  kind: 'video' | 'image' | 'text';
  /** A sentence about the model */
  summary: string;
  price: {
    usd: number;
    /** The example with this price */
    for: string;
  };
  /** The share of matching words */
  score: number;
};

export type Capability = {
  /** The id of the model */
  capability_id: string;
  kind: 'video' | 'image' | 'text';
  /** A sentence about the model */
  summary: string;
  price: {
    usd: number;
    /** The example with this price */
    for: string;
  };
  /** A JSON Schema */
  inputs: Record<string, unknown>;
  /** A JSON Schema */
  outputs: Record<string, unknown>;
  limits: Record<string, unknown>;
  prices: Record<string, unknown>;
  /** A working body of `run` */
  example: Record<string, unknown>;
};

export type RunCapability = {
  /** The id of a model, from a search */
  capability_id: string;
  /** The inputs. `inspect` describes them; {} by default */
  inputs?: {};
  /** The longest wait for a task, in seconds. By default, 0. Text is always complete */
  wait_seconds?: number;
  /** Replaces the header. A repeated call with the same key returns the task of the first call, or its text while the account’s responses are stored */
  idempotency_key?: string;
};

export type ChatCompletion = {
  id: string;
  object: 'chat.completion';
  /** When the request started, in Unix seconds */
  created: number;
  model: string;
  choices: {
    index: number;
    message: {
      role: 'assistant';
      /** The text. Empty if reasoning used all tokens */
      content: string | null;
      /** The reasoning of the model, billed as output */
      reasoning_content?: string;
      /** The audio. Only if the request asks for audio */
      audio?: {
        /** The name by which later requests refer to the audio */
        id: string;
        /** Base64, in the requested format */
        data: string;
        transcript: string;
        /** When the model forgets the name, in Unix seconds */
        expires_at: number;
      };
      tool_calls?: {
        id: string;
        type: 'function';
        function: {
          name: string;
          /** The arguments as JSON */
          arguments: string;
        };
        /** Send it back with the call */
        extra_content?: {};
      }[];
      /** The function call. Only if the request has `functions` */
      function_call?: {
        name: string;
        /** The arguments as JSON */
        arguments: string;
      };
    };
    /** `function_call` only if the request has `functions` */
    finish_reason: 'stop' | 'length' | 'tool_calls' | 'function_call';
  }[];
  usage: {
    prompt_tokens: number;
    completion_tokens: number;
    total_tokens: number;
    prompt_tokens_details?: {
      cached_tokens?: number;
      cache_write_tokens?: number;
      audio_tokens?: number;
    };
    completion_tokens_details?: {
      reasoning_tokens?: number;
      audio_tokens?: number;
    };
  };
};

export type ResponsesResponse = {
  id: string;
  object: 'response';
  /** When the request started, in Unix seconds */
  created_at: number;
  /** When the answer was complete, in Unix seconds. Null until then */
  completed_at?: number | null;
  /** The instructions of the request. Null if there are none */
  instructions?: unknown;
  /** The metadata of the request */
  metadata?: Record<string, unknown> | null;
  model: string;
  status: 'completed' | 'incomplete';
  incomplete_details: {
    reason: 'max_output_tokens';
  } | null;
  output: (
    | {
        type: 'message';
        id: string;
        status: string;
        role: 'assistant';
        content: {
          type: 'output_text';
          text: string;
        }[];
      }
    | {
        type: 'reasoning';
        id: string;
        summary: {
          type: 'summary_text';
          text: string;
        }[];
      }
    | {
        type: 'function_call';
        id: string;
        status: string;
        call_id: string;
        name: string;
        /** The arguments as JSON */
        arguments: string;
      }
    | {
        type: 'web_search_call';
        id: string;
        status: string;
        action?: {
          type: 'search';
          query?: string;
        };
      }
  )[];
  usage: {
    input_tokens: number;
    input_tokens_details: {
      cached_tokens: number;
      cache_write_tokens?: number;
    };
    output_tokens: number;
    output_tokens_details: {
      reasoning_tokens: number;
    };
    total_tokens: number;
  };
};

export type Message = {
  id: string;
  type: 'message';
  role: 'assistant';
  model: string;
  content: (
    | {
        type: 'text';
        text: string;
      }
    | {
        type: 'thinking';
        thinking: string;
        signature: string;
      }
    | {
        type: 'redacted_thinking';
        data: string;
      }
    | {
        type: 'tool_use';
        id: string;
        name: string;
        input: Record<string, unknown>;
      }
    | {
        type: 'server_tool_use';
        id: string;
        name: 'web_search';
        input: Record<string, unknown>;
      }
    | {
        type: 'web_search_tool_result';
        tool_use_id: string;
        content:
          | {
              type: 'web_search_result';
              url: string;
              title: string;
              encrypted_content: string;
            }[]
          | {
              type: 'web_search_tool_result_error';
              error_code: string;
            };
      }
  )[];
  stop_reason: 'end_turn' | 'max_tokens' | 'stop_sequence' | 'tool_use';
  /** The stop sequence that ended the answer. Null if none did */
  stop_sequence: string | null;
  usage: {
    /** The input tokens, except tokens read from or written to the cache */
    input_tokens: number;
    cache_creation_input_tokens?: number;
    /** The tokens written to the cache, by cache lifetime */
    cache_creation?: {
      ephemeral_5m_input_tokens: number;
      ephemeral_1h_input_tokens: number;
    };
    cache_read_input_tokens?: number;
    output_tokens: number;
    output_tokens_details?: {
      thinking_tokens: number;
    };
    /** The searches of the web */
    server_tool_use?: {
      web_search_requests: number;
    };
  };
};

export type GenerateContentResponse = {
  candidates: {
    content: {
      role: 'model';
      /** The content. May be absent if reasoning used all tokens */
      parts?: (
        | {
            text: string;
          }
        | {
            inlineData: {
              mimeType: string;
              /** Base64 */
              data: string;
            };
          }
        | {
            functionCall: {
              id?: string;
              name: string;
              args: Record<string, unknown>;
            };
            thoughtSignature?: string;
          }
      )[];
    };
    /** The reason. Present in whole answers and in the last object of a stream */
    finishReason?: 'STOP' | 'MAX_TOKENS';
    index: number;
  }[];
  usageMetadata: {
    promptTokenCount: number;
    cachedContentTokenCount?: number;
    thoughtsTokenCount?: number;
    totalTokenCount: number;
    promptTokensDetails?: {
      modality: 'TEXT' | 'AUDIO';
      tokenCount: number;
    }[];
    candidatesTokensDetails?: {
      modality: 'TEXT' | 'AUDIO';
      tokenCount: number;
    }[];
    candidatesTokenCount?: number;
  };
  modelVersion: string;
  responseId: string;
};

export type RerankResponse = {
  object: 'list';
  model: string;
  results: {
    /** The position among the documents */
    index: number;
    relevance_score: number;
    document?: {
      text: string;
    };
  }[];
  meta?: {
    billed_units: {
      search_units: number;
    };
  };
  usage?: {
    total_tokens: number;
  };
};
