"""Written by `npm run clients:types` from the API description."""

from typing import Any, Dict, List, Literal, NotRequired, TypedDict, Union

TaskTypicalSeconds = TypedDict("TaskTypicalSeconds", {
    "p50": float,
    "p90": float,
    "samples": int,
})

TaskUsage = TypedDict("TaskUsage", {
    "credits_reserved": float,
    "credits_charged": float,
    "credits_settled": float,
    "credits_refunded": float,
    "billable_duration_seconds": NotRequired[int],
    "price_list": NotRequired[str],
})

Task = TypedDict("Task", {
    "id": str,
    "object": Literal["task"],
    "task_kind": Literal["image", "video"],
    "capability_id": str,
    "capability_version": Union[int, None],
    "media_type": Literal["image", "video"],
    "model": str,
    "status": Literal["queued", "processing", "succeeded", "failed"],
    "stage": Literal["queued", "processing", "succeeded", "failed"],
    "created_at": int,
    "updated_at": int,
    "completed_at": Union[int, None],
    "poll_after_seconds": NotRequired[int],
    "typical_seconds": NotRequired["TaskTypicalSeconds"],
    "output": Union["TaskOutput", None],
    "usage": "TaskUsage",
    "request_id": str,
    "batch_id": NotRequired[str],
    "end_user": NotRequired[str],
    "error_code": Union[Literal["content_policy_violation", "bad_request", "processing_unavailable", "processing_timeout", "processing_failed", "result_transfer_failed"], None],
    "error_message": Union[str, None],
    "retryable": NotRequired[bool],
})

TaskOutputMediaItem = TypedDict("TaskOutputMediaItem", {
    "type": Literal["image", "video"],
    "url": str,
    "mime_type": str,
    "width": NotRequired[int],
    "height": NotRequired[int],
})

TaskOutput = TypedDict("TaskOutput", {
    "media": List["TaskOutputMediaItem"],
    "r2_url": Union[str, None],
})

BatchErrorsDataItem = TypedDict("BatchErrorsDataItem", {
    "code": str,
    "message": str,
    "line": Union[int, None],
    "param": Union[str, None],
})

BatchErrors = TypedDict("BatchErrors", {
    "object": Literal["list"],
    "data": List["BatchErrorsDataItem"],
})

BatchRequestCounts = TypedDict("BatchRequestCounts", {
    "total": int,
    "completed": int,
    "failed": int,
})

Batch = TypedDict("Batch", {
    "id": str,
    "object": Literal["batch"],
    "endpoint": Literal["/v1/chat/completions", "/v1/responses", "/v1/messages", "/v1/embeddings", "/v1/videos/tasks", "/v1/images/tasks"],
    "errors": Union["BatchErrors", None],
    "input_file_id": str,
    "completion_window": str,
    "status": Literal["validating", "failed", "in_progress", "finalizing", "completed", "expired", "cancelling", "cancelled"],
    "output_file_id": Union[str, None],
    "error_file_id": Union[str, None],
    "created_at": int,
    "in_progress_at": Union[int, None],
    "expires_at": int,
    "finalizing_at": Union[int, None],
    "completed_at": Union[int, None],
    "failed_at": Union[int, None],
    "expired_at": Union[int, None],
    "cancelling_at": Union[int, None],
    "cancelled_at": Union[int, None],
    "request_counts": "BatchRequestCounts",
    "paused_reason": Union[str, None],
    "metadata": Union[Dict[str, str], None],
})

CreateBatchMetadata = TypedDict("CreateBatchMetadata", {

})

CreateBatchOutputExpiresAfter = TypedDict("CreateBatchOutputExpiresAfter", {

})

CreateBatch = TypedDict("CreateBatch", {
    "input_file_id": str,
    "endpoint": Literal["/v1/chat/completions", "/v1/responses", "/v1/messages", "/v1/embeddings", "/v1/videos/tasks", "/v1/images/tasks"],
    "completion_window": Literal["24h"],
    "metadata": NotRequired[Union["CreateBatchMetadata", None]],
    "output_expires_after": NotRequired[Union["CreateBatchOutputExpiresAfter", None]],
})

UploadedFile = TypedDict("UploadedFile", {
    "id": str,
    "object": Literal["file"],
    "url": str,
    "mime_type": str,
    "bytes": int,
    "purpose": Literal["user_data", "batch", "batch_output"],
    "status": Literal["processed"],
    "created_at": int,
    "filename": Union[str, None],
    "used_at": Union[int, None],
    "expires_at": Union[int, None],
})

DeletedFile = TypedDict("DeletedFile", {
    "id": str,
    "object": Literal["file"],
    "deleted": bool,
})

VideoModelLimitsPromptCharacters = TypedDict("VideoModelLimitsPromptCharacters", {
    "min": int,
    "max": int,
})

VideoModelLimitsDurationSeconds = TypedDict("VideoModelLimitsDurationSeconds", {
    "min": int,
    "max": int,
    "default": int,
    "values": NotRequired[List[int]],
})

VideoModelLimitsImages = TypedDict("VideoModelLimitsImages", {
    "min": int,
    "max": int,
})

VideoModelLimitsReferenceVideos = TypedDict("VideoModelLimitsReferenceVideos", {
    "min": int,
    "max": int,
})

VideoModelLimitsReferenceAudios = TypedDict("VideoModelLimitsReferenceAudios", {
    "min": int,
    "max": int,
})

VideoModelLimits = TypedDict("VideoModelLimits", {
    "prompt_characters": "VideoModelLimitsPromptCharacters",
    "duration_seconds": "VideoModelLimitsDurationSeconds",
    "images": "VideoModelLimitsImages",
    "reference_videos": "VideoModelLimitsReferenceVideos",
    "reference_audios": "VideoModelLimitsReferenceAudios",
    "aspect_ratios": List[str],
    "resolutions": List[str],
})

VideoModelPricesModifiersItem = TypedDict("VideoModelPricesModifiersItem", {
    "when": Dict[str, Any],
    "addition": float,
    "factor": float,
})

VideoModelPrices = TypedDict("VideoModelPrices", {
    "unit": Literal["second", "video"],
    "by_resolution": Dict[str, float],
    "modifiers": List["VideoModelPricesModifiersItem"],
})

VideoModel = TypedDict("VideoModel", {
    "id": str,
    "object": Literal["model"],
    "created": int,
    "owned_by": str,
    "unavailable_reason": NotRequired[Literal["not_allowed", "top_up_required", "disabled", "no_route"]],
    "kind": Literal["video"],
    "endpoint": Literal["/v1/videos/tasks"],
    "capability_version": Union[int, None],
    "limits": "VideoModelLimits",
    "parameters": Dict[str, Any],
    "prices": "VideoModelPrices",
})

ImageModelLimitsImages = TypedDict("ImageModelLimitsImages", {
    "min": int,
    "max": int,
})

ImageModelLimits = TypedDict("ImageModelLimits", {
    "images": "ImageModelLimitsImages",
    "aspect_ratios": List[str],
    "resolutions": List[str],
    "backgrounds": List[str],
})

ImageModelPricesModifiersItem = TypedDict("ImageModelPricesModifiersItem", {
    "when": Dict[str, Any],
    "addition": float,
    "factor": float,
})

ImageModelPrices = TypedDict("ImageModelPrices", {
    "unit": Literal["image"],
    "by_resolution": Dict[str, float],
    "modifiers": List["ImageModelPricesModifiersItem"],
})

ImageModel = TypedDict("ImageModel", {
    "id": str,
    "object": Literal["model"],
    "created": int,
    "owned_by": str,
    "unavailable_reason": NotRequired[Literal["not_allowed", "top_up_required", "disabled", "no_route"]],
    "kind": Literal["image"],
    "endpoint": Literal["/v1/images/tasks"],
    "capability_version": Union[int, None],
    "limits": "ImageModelLimits",
    "parameters": Dict[str, Any],
    "prices": "ImageModelPrices",
})

TextModelLimits = TypedDict("TextModelLimits", {
    "context_tokens": Union[int, None],
    "max_output_tokens": Union[int, None],
})

TextModelPricesTiersItem = TypedDict("TextModelPricesTiersItem", {
    "threshold_tokens": int,
    "applies": Literal["over", "at_or_over"],
    "factor": float,
})

TextModelPricesPeaksItemWindowsItem = TypedDict("TextModelPricesPeaksItemWindowsItem", {
    "from": str,
    "to": str,
})

TextModelPricesPeaksItem = TypedDict("TextModelPricesPeaksItem", {
    "utc_offset_minutes": int,
    "days": List[str],
    "windows": List["TextModelPricesPeaksItemWindowsItem"],
    "factor": float,
})

TextModelPrices = TypedDict("TextModelPrices", {
    "unit": Literal["1M tokens"],
    "input": float,
    "output": float,
    "cached_input": float,
    "cache_write": float,
    "cache_write_1h": NotRequired[float],
    "audio_input": NotRequired[float],
    "cached_audio_input": NotRequired[float],
    "audio_output": NotRequired[float],
    "character": NotRequired[float],
    "audio_second": NotRequired[float],
    "web_search": NotRequired[float],
    "search_unit": NotRequired[float],
    "tiers": List["TextModelPricesTiersItem"],
    "peaks": List["TextModelPricesPeaksItem"],
})

TextModel = TypedDict("TextModel", {
    "id": str,
    "object": Literal["model"],
    "created": int,
    "owned_by": str,
    "unavailable_reason": NotRequired[Literal["not_allowed", "top_up_required", "disabled", "no_route"]],
    "kind": Literal["text"],
    "family": str,
    "formats": List[Literal["chat-completions", "responses", "messages", "generate-content", "embeddings", "rerank", "speech", "transcriptions", "translations", "realtime"]],
    "output_modalities": NotRequired[List[Literal["text", "audio"]]],
    "reasoning": bool,
    "free": bool,
    "legacy": bool,
    "limits": "TextModelLimits",
    "prices": "TextModelPrices",
})

BalanceKey = TypedDict("BalanceKey", {
    "id": str,
    "used_usd": float,
    "usage_limit_usd": Union[float, None],
    "limit_period": Union[Literal["day", "week", "month"], None],
    "used_of_limit_usd": float,
    "renews_at": Union[int, None],
})

Balance = TypedDict("Balance", {
    "object": Literal["balance"],
    "available_usd": float,
    "funded_usd": float,
    "signup_usd": float,
    "promo_usd": float,
    "promo_expires_at": Union[int, None],
    "reserved_usd": float,
    "low_balance_usd": Union[float, None],
    "topped_up": bool,
    "key": "BalanceKey",
})

UpdateBalance = TypedDict("UpdateBalance", {
    "low_balance_usd": Union[float, str, None],
})

DailyUsage = TypedDict("DailyUsage", {
    "object": Literal["daily_usage"],
    "date": str,
    "kind": Literal["image", "video", "text"],
    "model": str,
    "api_key_id": str,
    "requests": int,
    "failed": int,
    "input_tokens": int,
    "cache_read_tokens": int,
    "cache_write_tokens": int,
    "cache_write_1h_tokens": int,
    "output_tokens": int,
    "audio_input_tokens": int,
    "audio_cache_read_tokens": int,
    "audio_output_tokens": int,
    "characters": int,
    "audio_seconds": int,
    "web_searches": int,
    "search_units": int,
    "billable_duration_seconds": int,
    "charged_usd": float,
})

EndUserUsage = TypedDict("EndUserUsage", {
    "object": Literal["end_user_usage"],
    "end_user": str,
    "requests": int,
    "failed": int,
    "input_tokens": int,
    "cache_read_tokens": int,
    "cache_write_tokens": int,
    "cache_write_1h_tokens": int,
    "output_tokens": int,
    "audio_input_tokens": int,
    "audio_cache_read_tokens": int,
    "audio_output_tokens": int,
    "characters": int,
    "audio_seconds": int,
    "web_searches": int,
    "search_units": int,
    "charged_usd": float,
})

TextRequestPriceModifiersItem = TypedDict("TextRequestPriceModifiersItem", {
    "kind": Literal["tier", "peak", "batch"],
    "factor": str,
})

TextRequest = TypedDict("TextRequest", {
    "created_at": int,
    "id": str,
    "object": Literal["text_request"],
    "request_id": str,
    "api_key_id": str,
    "model": str,
    "format": str,
    "stream": bool,
    "outcome": Literal["succeeded", "disconnected", "failed"],
    "error_code": Union[str, None],
    "rates_version": str,
    "price_list": Union[str, None],
    "input_tokens": int,
    "cache_read_tokens": int,
    "cache_write_tokens": int,
    "cache_write_1h_tokens": int,
    "output_tokens": int,
    "audio_input_tokens": int,
    "audio_cache_read_tokens": int,
    "audio_output_tokens": int,
    "characters": int,
    "audio_seconds": int,
    "web_searches": int,
    "search_units": int,
    "reasoning_tokens": Union[int, None],
    "end_user": Union[str, None],
    "batch_id": Union[str, None],
    "estimated": bool,
    "price_modifiers": List["TextRequestPriceModifiersItem"],
    "charged_usd": float,
    "latency_ms": Union[int, None],
    "first_byte_ms": Union[int, None],
})

Webhook = TypedDict("Webhook", {
    "id": str,
    "object": Literal["webhook_endpoint"],
    "url": str,
    "description": Union[str, None],
    "events": List[Literal["task.succeeded", "task.failed", "task.late_result", "account.balance_low", "batch.completed", "batch.failed", "batch.expired", "batch.cancelled", "batch.paused"]],
    "secret": NotRequired[str],
    "enabled": bool,
    "disabled_at": Union[int, None],
    "disabled_reason": Union[str, None],
    "failing_since": Union[int, None],
    "created_at": int,
    "updated_at": int,
})

CreateWebhook = TypedDict("CreateWebhook", {
    "url": str,
    "description": NotRequired[Union[str, None]],
    "events": NotRequired[List[Literal["task.succeeded", "task.failed", "task.late_result", "account.balance_low", "batch.completed", "batch.failed", "batch.expired", "batch.cancelled", "batch.paused"]]],
})

UpdateWebhook = TypedDict("UpdateWebhook", {
    "url": NotRequired[str],
    "description": NotRequired[Union[str, None]],
    "events": NotRequired[List[Literal["task.succeeded", "task.failed", "task.late_result", "account.balance_low", "batch.completed", "batch.failed", "batch.expired", "batch.cancelled", "batch.paused"]]],
    "enabled": NotRequired[bool],
})

DeliveryAttemptsItem = TypedDict("DeliveryAttemptsItem", {
    "number": int,
    "started_at": int,
    "latency_ms": int,
    "http_status": Union[int, None],
    "error": Union[str, None],
})

Delivery = TypedDict("Delivery", {
    "id": str,
    "object": Literal["webhook_delivery"],
    "webhook_id": str,
    "event_id": str,
    "event": str,
    "task_id": Union[str, None],
    "status": Literal["pending", "delivered", "failed"],
    "attempts": List["DeliveryAttemptsItem"],
    "next_attempt_at": Union[int, None],
    "created_at": int,
    "completed_at": Union[int, None],
})

TaskEvent = TypedDict("TaskEvent", {
    "id": str,
    "object": Literal["event"],
    "type": Literal["task.succeeded", "task.failed"],
    "created_at": int,
    "data": "Task",
})

LowBalanceEventData = TypedDict("LowBalanceEventData", {
    "object": Literal["balance"],
    "account_id": str,
    "available_usd": float,
    "reserved_usd": float,
    "low_balance_usd": float,
})

LowBalanceEvent = TypedDict("LowBalanceEvent", {
    "id": str,
    "object": Literal["event"],
    "type": Literal["account.balance_low"],
    "created_at": int,
    "data": "LowBalanceEventData",
})

TestEventData = TypedDict("TestEventData", {
    "id": str,
    "object": Literal["webhook_endpoint"],
    "url": str,
})

TestEvent = TypedDict("TestEvent", {
    "id": str,
    "object": Literal["event"],
    "type": Literal["endpoint.test"],
    "created_at": int,
    "data": "TestEventData",
})

SearchCapabilities = TypedDict("SearchCapabilities", {
    "query": NotRequired[str],
    "kind": NotRequired[Literal["video", "image", "text"]],
    "max_price_usd": NotRequired[float],
    "limit": NotRequired[int],
})

FoundCapabilityPrice = TypedDict("FoundCapabilityPrice", {
    "usd": float,
    "for": str,
})

FoundCapability = TypedDict("FoundCapability", {
    "capability_id": str,
    "kind": Literal["video", "image", "text"],
    "summary": str,
    "price": "FoundCapabilityPrice",
    "score": float,
})

CapabilityPrice = TypedDict("CapabilityPrice", {
    "usd": float,
    "for": str,
})

Capability = TypedDict("Capability", {
    "capability_id": str,
    "kind": Literal["video", "image", "text"],
    "summary": str,
    "price": "CapabilityPrice",
    "inputs": Dict[str, Any],
    "outputs": Dict[str, Any],
    "limits": Dict[str, Any],
    "prices": Dict[str, Any],
    "example": Dict[str, Any],
})

RunCapabilityInputs = TypedDict("RunCapabilityInputs", {

})

RunCapability = TypedDict("RunCapability", {
    "capability_id": str,
    "inputs": NotRequired["RunCapabilityInputs"],
    "wait_seconds": NotRequired[float],
    "idempotency_key": NotRequired[str],
})

ChatCompletionChoicesItemMessageAudio = TypedDict("ChatCompletionChoicesItemMessageAudio", {
    "id": str,
    "data": str,
    "transcript": str,
    "expires_at": int,
})

ChatCompletionChoicesItemMessageToolCallsItemFunction = TypedDict("ChatCompletionChoicesItemMessageToolCallsItemFunction", {
    "name": str,
    "arguments": str,
})

ChatCompletionChoicesItemMessageToolCallsItemExtraContent = TypedDict("ChatCompletionChoicesItemMessageToolCallsItemExtraContent", {

})

ChatCompletionChoicesItemMessageToolCallsItem = TypedDict("ChatCompletionChoicesItemMessageToolCallsItem", {
    "id": str,
    "type": Literal["function"],
    "function": "ChatCompletionChoicesItemMessageToolCallsItemFunction",
    "extra_content": NotRequired["ChatCompletionChoicesItemMessageToolCallsItemExtraContent"],
})

ChatCompletionChoicesItemMessageFunctionCall = TypedDict("ChatCompletionChoicesItemMessageFunctionCall", {
    "name": str,
    "arguments": str,
})

ChatCompletionChoicesItemMessage = TypedDict("ChatCompletionChoicesItemMessage", {
    "role": Literal["assistant"],
    "content": Union[str, None],
    "reasoning_content": NotRequired[str],
    "audio": NotRequired["ChatCompletionChoicesItemMessageAudio"],
    "tool_calls": NotRequired[List["ChatCompletionChoicesItemMessageToolCallsItem"]],
    "function_call": NotRequired["ChatCompletionChoicesItemMessageFunctionCall"],
})

ChatCompletionChoicesItem = TypedDict("ChatCompletionChoicesItem", {
    "index": int,
    "message": "ChatCompletionChoicesItemMessage",
    "finish_reason": Literal["stop", "length", "tool_calls", "function_call"],
})

ChatCompletionUsagePromptTokensDetails = TypedDict("ChatCompletionUsagePromptTokensDetails", {
    "cached_tokens": NotRequired[int],
    "cache_write_tokens": NotRequired[int],
    "audio_tokens": NotRequired[int],
})

ChatCompletionUsageCompletionTokensDetails = TypedDict("ChatCompletionUsageCompletionTokensDetails", {
    "reasoning_tokens": NotRequired[int],
    "audio_tokens": NotRequired[int],
})

ChatCompletionUsage = TypedDict("ChatCompletionUsage", {
    "prompt_tokens": int,
    "completion_tokens": int,
    "total_tokens": int,
    "prompt_tokens_details": NotRequired["ChatCompletionUsagePromptTokensDetails"],
    "completion_tokens_details": NotRequired["ChatCompletionUsageCompletionTokensDetails"],
})

ChatCompletion = TypedDict("ChatCompletion", {
    "id": str,
    "object": Literal["chat.completion"],
    "created": int,
    "model": str,
    "choices": List["ChatCompletionChoicesItem"],
    "usage": "ChatCompletionUsage",
})

ResponsesResponseIncompleteDetails = TypedDict("ResponsesResponseIncompleteDetails", {
    "reason": Literal["max_output_tokens"],
})

ResponsesResponseOutputItem1ContentItem = TypedDict("ResponsesResponseOutputItem1ContentItem", {
    "type": Literal["output_text"],
    "text": str,
})

ResponsesResponseOutputItem1 = TypedDict("ResponsesResponseOutputItem1", {
    "type": Literal["message"],
    "id": str,
    "status": str,
    "role": Literal["assistant"],
    "content": List["ResponsesResponseOutputItem1ContentItem"],
})

ResponsesResponseOutputItem2SummaryItem = TypedDict("ResponsesResponseOutputItem2SummaryItem", {
    "type": Literal["summary_text"],
    "text": str,
})

ResponsesResponseOutputItem2 = TypedDict("ResponsesResponseOutputItem2", {
    "type": Literal["reasoning"],
    "id": str,
    "summary": List["ResponsesResponseOutputItem2SummaryItem"],
})

ResponsesResponseOutputItem3 = TypedDict("ResponsesResponseOutputItem3", {
    "type": Literal["function_call"],
    "id": str,
    "status": str,
    "call_id": str,
    "name": str,
    "arguments": str,
})

ResponsesResponseOutputItem4Action = TypedDict("ResponsesResponseOutputItem4Action", {
    "type": Literal["search"],
    "query": NotRequired[str],
})

ResponsesResponseOutputItem4 = TypedDict("ResponsesResponseOutputItem4", {
    "type": Literal["web_search_call"],
    "id": str,
    "status": str,
    "action": NotRequired["ResponsesResponseOutputItem4Action"],
})

ResponsesResponseUsageInputTokensDetails = TypedDict("ResponsesResponseUsageInputTokensDetails", {
    "cached_tokens": int,
    "cache_write_tokens": NotRequired[int],
})

ResponsesResponseUsageOutputTokensDetails = TypedDict("ResponsesResponseUsageOutputTokensDetails", {
    "reasoning_tokens": int,
})

ResponsesResponseUsage = TypedDict("ResponsesResponseUsage", {
    "input_tokens": int,
    "input_tokens_details": "ResponsesResponseUsageInputTokensDetails",
    "output_tokens": int,
    "output_tokens_details": "ResponsesResponseUsageOutputTokensDetails",
    "total_tokens": int,
})

ResponsesResponse = TypedDict("ResponsesResponse", {
    "id": str,
    "object": Literal["response"],
    "created_at": int,
    "completed_at": NotRequired[Union[int, None]],
    "instructions": NotRequired[Any],
    "metadata": NotRequired[Union[Dict[str, Any], None]],
    "model": str,
    "status": Literal["completed", "incomplete"],
    "incomplete_details": Union["ResponsesResponseIncompleteDetails", None],
    "output": List[Union["ResponsesResponseOutputItem1", "ResponsesResponseOutputItem2", "ResponsesResponseOutputItem3", "ResponsesResponseOutputItem4"]],
    "usage": "ResponsesResponseUsage",
})

MessageContentItem1 = TypedDict("MessageContentItem1", {
    "type": Literal["text"],
    "text": str,
})

MessageContentItem2 = TypedDict("MessageContentItem2", {
    "type": Literal["thinking"],
    "thinking": str,
    "signature": str,
})

MessageContentItem3 = TypedDict("MessageContentItem3", {
    "type": Literal["redacted_thinking"],
    "data": str,
})

MessageContentItem4 = TypedDict("MessageContentItem4", {
    "type": Literal["tool_use"],
    "id": str,
    "name": str,
    "input": Dict[str, Any],
})

MessageContentItem5 = TypedDict("MessageContentItem5", {
    "type": Literal["server_tool_use"],
    "id": str,
    "name": Literal["web_search"],
    "input": Dict[str, Any],
})

MessageContentItem6Content1Item = TypedDict("MessageContentItem6Content1Item", {
    "type": Literal["web_search_result"],
    "url": str,
    "title": str,
    "encrypted_content": str,
})

MessageContentItem6Content2 = TypedDict("MessageContentItem6Content2", {
    "type": Literal["web_search_tool_result_error"],
    "error_code": str,
})

MessageContentItem6 = TypedDict("MessageContentItem6", {
    "type": Literal["web_search_tool_result"],
    "tool_use_id": str,
    "content": Union[List["MessageContentItem6Content1Item"], "MessageContentItem6Content2"],
})

MessageUsageCacheCreation = TypedDict("MessageUsageCacheCreation", {
    "ephemeral_5m_input_tokens": int,
    "ephemeral_1h_input_tokens": int,
})

MessageUsageOutputTokensDetails = TypedDict("MessageUsageOutputTokensDetails", {
    "thinking_tokens": int,
})

MessageUsageServerToolUse = TypedDict("MessageUsageServerToolUse", {
    "web_search_requests": int,
})

MessageUsage = TypedDict("MessageUsage", {
    "input_tokens": int,
    "cache_creation_input_tokens": NotRequired[int],
    "cache_creation": NotRequired["MessageUsageCacheCreation"],
    "cache_read_input_tokens": NotRequired[int],
    "output_tokens": int,
    "output_tokens_details": NotRequired["MessageUsageOutputTokensDetails"],
    "server_tool_use": NotRequired["MessageUsageServerToolUse"],
})

Message = TypedDict("Message", {
    "id": str,
    "type": Literal["message"],
    "role": Literal["assistant"],
    "model": str,
    "content": List[Union["MessageContentItem1", "MessageContentItem2", "MessageContentItem3", "MessageContentItem4", "MessageContentItem5", "MessageContentItem6"]],
    "stop_reason": Literal["end_turn", "max_tokens", "stop_sequence", "tool_use"],
    "stop_sequence": Union[str, None],
    "usage": "MessageUsage",
})

GenerateContentResponseCandidatesItemContentPartsItem1 = TypedDict("GenerateContentResponseCandidatesItemContentPartsItem1", {
    "text": str,
})

GenerateContentResponseCandidatesItemContentPartsItem2InlineData = TypedDict("GenerateContentResponseCandidatesItemContentPartsItem2InlineData", {
    "mimeType": str,
    "data": str,
})

GenerateContentResponseCandidatesItemContentPartsItem2 = TypedDict("GenerateContentResponseCandidatesItemContentPartsItem2", {
    "inlineData": "GenerateContentResponseCandidatesItemContentPartsItem2InlineData",
})

GenerateContentResponseCandidatesItemContentPartsItem3FunctionCall = TypedDict("GenerateContentResponseCandidatesItemContentPartsItem3FunctionCall", {
    "id": NotRequired[str],
    "name": str,
    "args": Dict[str, Any],
})

GenerateContentResponseCandidatesItemContentPartsItem3 = TypedDict("GenerateContentResponseCandidatesItemContentPartsItem3", {
    "functionCall": "GenerateContentResponseCandidatesItemContentPartsItem3FunctionCall",
    "thoughtSignature": NotRequired[str],
})

GenerateContentResponseCandidatesItemContent = TypedDict("GenerateContentResponseCandidatesItemContent", {
    "role": Literal["model"],
    "parts": NotRequired[List[Union["GenerateContentResponseCandidatesItemContentPartsItem1", "GenerateContentResponseCandidatesItemContentPartsItem2", "GenerateContentResponseCandidatesItemContentPartsItem3"]]],
})

GenerateContentResponseCandidatesItem = TypedDict("GenerateContentResponseCandidatesItem", {
    "content": "GenerateContentResponseCandidatesItemContent",
    "finishReason": NotRequired[Literal["STOP", "MAX_TOKENS"]],
    "index": int,
})

GenerateContentResponseUsageMetadataPromptTokensDetailsItem = TypedDict("GenerateContentResponseUsageMetadataPromptTokensDetailsItem", {
    "modality": Literal["TEXT", "AUDIO"],
    "tokenCount": int,
})

GenerateContentResponseUsageMetadataCandidatesTokensDetailsItem = TypedDict("GenerateContentResponseUsageMetadataCandidatesTokensDetailsItem", {
    "modality": Literal["TEXT", "AUDIO"],
    "tokenCount": int,
})

GenerateContentResponseUsageMetadata = TypedDict("GenerateContentResponseUsageMetadata", {
    "promptTokenCount": int,
    "cachedContentTokenCount": NotRequired[int],
    "thoughtsTokenCount": NotRequired[int],
    "totalTokenCount": int,
    "promptTokensDetails": NotRequired[List["GenerateContentResponseUsageMetadataPromptTokensDetailsItem"]],
    "candidatesTokensDetails": NotRequired[List["GenerateContentResponseUsageMetadataCandidatesTokensDetailsItem"]],
    "candidatesTokenCount": NotRequired[int],
})

GenerateContentResponse = TypedDict("GenerateContentResponse", {
    "candidates": List["GenerateContentResponseCandidatesItem"],
    "usageMetadata": "GenerateContentResponseUsageMetadata",
    "modelVersion": str,
    "responseId": str,
})

RerankResponseResultsItemDocument = TypedDict("RerankResponseResultsItemDocument", {
    "text": str,
})

RerankResponseResultsItem = TypedDict("RerankResponseResultsItem", {
    "index": int,
    "relevance_score": float,
    "document": NotRequired["RerankResponseResultsItemDocument"],
})

RerankResponseMetaBilledUnits = TypedDict("RerankResponseMetaBilledUnits", {
    "search_units": int,
})

RerankResponseMeta = TypedDict("RerankResponseMeta", {
    "billed_units": "RerankResponseMetaBilledUnits",
})

RerankResponseUsage = TypedDict("RerankResponseUsage", {
    "total_tokens": int,
})

RerankResponse = TypedDict("RerankResponse", {
    "object": Literal["list"],
    "model": str,
    "results": List["RerankResponseResultsItem"],
    "meta": NotRequired["RerankResponseMeta"],
    "usage": NotRequired["RerankResponseUsage"],
})

Model = Union["VideoModel", "ImageModel", "TextModel"]
