"""Verification of webhooks: https://www.standardwebhooks.com"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import time
from collections.abc import Iterable
from typing import Protocol, Union

from .errors import WebhookVerificationError
from .types import LowBalanceEvent, TaskEvent, TestEvent

WebhookEvent = Union[TaskEvent, LowBalanceEvent, TestEvent]

TOLERANCE_SECONDS = 300


class Headers(Protocol):
    """Headers of any framework, such as a dict or the headers of `http.server`."""

    def items(self) -> Iterable[tuple[str, str]]: ...


def verify_webhook(body: Union[bytes, str], headers: Headers, secret: str) -> WebhookEvent:
    """The event of a delivery, once its signature and its time are right. The same event can arrive twice: remember its id.

    `body` is the raw body, before anything parses it. `secret` is that of the endpoint, `whsec_…`; for a day after a
    rotation, the previous secret works as well. Raises WebhookVerificationError, to answer with status 401.
    """
    sent = {name.lower(): value for name, value in headers.items()}
    timestamp = sent.get("webhook-timestamp", "")
    # A float, because an integer of many digits cannot be subtracted.
    if not (timestamp.isascii() and timestamp.isdigit()) or abs(time.time() - float(timestamp)) > TOLERANCE_SECONDS:
        raise WebhookVerificationError("The timestamp is missing, or more than five minutes away from this clock.")
    raw = _encoded(body) if isinstance(body, str) else body
    try:
        key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except binascii.Error as error:
        raise ValueError("The secret of a webhook endpoint looks like whsec_…") from error
    if not key:
        raise ValueError("Pass the secret of the webhook endpoint: an empty one would accept forgeries.")
    signed = _encoded(f"{sent.get('webhook-id', '')}.{timestamp}.") + raw
    expected = "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    signatures = sent.get("webhook-signature", "").split(" ")
    if not any(hmac.compare_digest(_encoded(expected), _encoded(signature)) for signature in signatures):
        raise WebhookVerificationError(
            "The signature is wrong: the body was changed, or the secret is of another endpoint."
        )
    event: WebhookEvent = json.loads(raw)
    return event


def _encoded(text: str) -> bytes:
    """The bytes of a text. Some frameworks give headers with half characters, which plain UTF-8 has no bytes for."""
    return text.encode("utf-8", "surrogatepass")
