"""Client for Genway: video, image and text generation behind one API."""

from . import types
from ._async import AsyncCreatedTask, AsyncGenway, AsyncList
from ._sync import CreatedTask, Genway, List
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
    "AsyncCreatedTask",
    "AsyncGenway",
    "AsyncList",
    "AuthenticationError",
    "BadRequestError",
    "ConflictError",
    "ContentPolicyError",
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
