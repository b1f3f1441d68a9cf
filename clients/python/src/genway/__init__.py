"""Client for Genway: video, image and text generation behind one API."""

from . import types
from ._async import AsyncCreatedBatch, AsyncCreatedTask, AsyncGenway, AsyncList
from ._sync import CreatedBatch, CreatedTask, Genway, List
from .errors import (
    APIConnectionError,
    APIError,
    APITimeoutError,
    AuthenticationError,
    BadRequestError,
    ConflictError,
    ContentPolicyError,
    GenwayError,
    InsufficientCreditsError,
    InternalServerError,
    NotFoundError,
    PayloadTooLargeError,
    PermissionDeniedError,
    RateLimitError,
    TaskFailedError,
    UnavailableError,
    WaitTimeoutError,
    WebhookVerificationError,
)
from .webhooks import WebhookEvent, verify_webhook

__all__ = [
    "APIConnectionError",
    "APIError",
    "APITimeoutError",
    "AsyncCreatedBatch",
    "AsyncCreatedTask",
    "AsyncGenway",
    "AsyncList",
    "AuthenticationError",
    "BadRequestError",
    "ConflictError",
    "ContentPolicyError",
    "CreatedBatch",
    "CreatedTask",
    "Genway",
    "GenwayError",
    "InsufficientCreditsError",
    "InternalServerError",
    "List",
    "NotFoundError",
    "PayloadTooLargeError",
    "PermissionDeniedError",
    "RateLimitError",
    "TaskFailedError",
    "UnavailableError",
    "WaitTimeoutError",
    "WebhookEvent",
    "WebhookVerificationError",
    "types",
    "verify_webhook",
]
