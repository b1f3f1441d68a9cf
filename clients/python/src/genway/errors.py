"""The errors of the client. Every one of them is a GenwayError."""

from __future__ import annotations

import math
from typing import Any, Optional, Union

from .types import Batch, Task


class GenwayError(Exception):
    pass


class APIError(GenwayError):
    """The API refused the request."""

    def __init__(
        self,
        message: str,
        *,
        status: int,
        code: str,
        request_id: Optional[str],
        retryable: bool,
        retry_after_seconds: Optional[float],
    ) -> None:
        super().__init__(message)
        self.status = status
        #: One of the codes of the API, such as `insufficient_credits`; empty if the answer did not come from Genway.
        self.code = code
        #: Quote it when you ask for support.
        self.request_id = request_id
        #: Whether sending the same request again can succeed.
        self.retryable = retryable
        self.retry_after_seconds = retry_after_seconds


class BadRequestError(APIError):
    """The request is wrong: the message names the field."""


class ContentPolicyError(BadRequestError):
    """Moderation refused the prompt, an input or the result."""


class AuthenticationError(APIError):
    """The key is missing, wrong, expired, disabled or exhausted."""


class InsufficientCreditsError(APIError):
    """The balance or the limit of the key does not cover the price."""


class PermissionDeniedError(APIError):
    """The key may not do this."""


class NotFoundError(APIError):
    pass


class ConflictError(APIError):
    """The idempotency key was used for another request, or the state of the object does not allow the call."""


class PayloadTooLargeError(APIError):
    pass


class RateLimitError(APIError):
    """Too many requests, or too many running tasks."""


class UnavailableError(APIError):
    """The model or a part of the service is not available now."""


class InternalServerError(APIError):
    """An unexpected fault of the service."""


BY_STATUS: dict[int, type[APIError]] = {
    400: BadRequestError,
    401: AuthenticationError,
    402: InsufficientCreditsError,
    403: PermissionDeniedError,
    404: NotFoundError,
    405: BadRequestError,
    409: ConflictError,
    413: PayloadTooLargeError,
    429: RateLimitError,
    500: InternalServerError,
    502: UnavailableError,
    503: UnavailableError,
    504: UnavailableError,
}
#: What Genway and the proxies before it answer to requests that may be sent again.
RETRYABLE = {408, 429, 500, 502, 503, 504}


def error_of(status: int, body: Any, request_id: Optional[str], retry_after: Optional[str] = None) -> APIError:
    """The error of an answer or of an event, in the envelope of any format."""
    error = body.get("error") if isinstance(body, dict) else None
    error = error if isinstance(error, dict) else {}
    code = error.get("code") or error.get("type")
    message = error.get("message")
    retryable = error.get("retryable")
    kind = ContentPolicyError if code == "content_policy_violation" else BY_STATUS.get(status, APIError)
    return kind(
        message if isinstance(message, str) else f"The server answered {status}.",
        status=status,
        code=code if isinstance(code, str) else "",
        request_id=request_id,
        retryable=retryable if isinstance(retryable, bool) else status in RETRYABLE,
        retry_after_seconds=_seconds(retry_after),
    )


def _seconds(retry_after: Optional[str]) -> Optional[float]:
    if not retry_after or not (retry_after.isascii() and retry_after.isdigit()):
        return None
    seconds = float(retry_after)
    return seconds if math.isfinite(seconds) else None


class APIConnectionError(GenwayError):
    """No answer arrived: the connection failed or broke off."""


class APITimeoutError(APIConnectionError):
    """No answer arrived in time."""


class TaskFailedError(GenwayError):
    """A task failed. Its price was refunded."""

    def __init__(self, task: Task) -> None:
        super().__init__(task["error_message"] or f"{task['id']} failed")
        self.task = task
        self.code = task["error_code"] or "processing_failed"
        self.retryable = task.get("retryable", False)


class WaitTimeoutError(GenwayError):
    """A task or batch was not final in time. It goes on: wait for it again with `tasks.wait` or `batches.wait`."""

    def __init__(self, task: Union[Task, Batch]) -> None:
        super().__init__(f"{task['id']} is still {task['status']}. Wait for it again, or read it later.")
        #: As it was last seen.
        self.task = task


class WebhookVerificationError(GenwayError):
    """A delivery that Genway did not sign, or signed too long ago. Answer it with status 401."""
