"""The synchronous client. `npm run clients:types` writes this file from _async.py."""

from __future__ import annotations

import json
import os
import random
import time
import uuid
from collections.abc import Iterator, Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import IO, Any, Generic, Literal, Optional, TypeVar, Union, overload
from urllib.parse import quote

import httpx

from . import types
from .errors import APIConnectionError, APIError, APITimeoutError, TaskFailedError, WaitTimeoutError, error_of

Item = TypeVar("Item")
Body = Mapping[str, Any]
Moment = Union[datetime, str, int]
#: A path, the bytes of a file, or a file that is open for reading bytes.
Uploadable = Union[str, Path, bytes, IO[bytes]]

MINUTE = 60.0
TEXT_MINUTES = 10
FIRST_PAUSE = 0.5
MAX_PAUSE = 30.0
MAX_ASKED = 300.0
POLL_SECONDS = 5
MIN_READ = 1.0
#: A batch takes at most a day, and a little for its files.
DAY_AND_HOUR = 25 * 3600.0
#: The longest time limit of a socket, 24 days.
MAX_TIMEOUT = (2**31 - 1) / 1000
#: Failures to connect, before anything is sent.
NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)


@dataclass(frozen=True)
class Call:
    method: str
    path: str
    query: Body = field(default_factory=dict)
    body: Optional[Body] = None
    headers: Mapping[str, str] = field(default_factory=dict)
    upload: Optional[tuple[str, Uploadable]] = None
    #: The other fields of the form, before the file.
    form: Optional[Body] = None
    is_text: bool = False
    #: Whether a POST changes nothing.
    is_read: bool = False
    #: Sent with each try of a call that the API does once for each key.
    idempotency_key: Optional[str] = None


class Http:
    def __init__(
        self,
        api_key: Optional[str],
        base_url: Optional[str],
        text_base_url: Optional[str],
        max_retries: int,
        timeout: Optional[float],
        http_client: Optional[httpx.Client],
    ) -> None:
        key = api_key or os.environ.get("GENWAY_API_KEY")
        base = base_url or os.environ.get("GENWAY_BASE_URL")
        if not key:
            raise ValueError("Pass api_key, or set GENWAY_API_KEY.")
        if not base:
            raise ValueError("Pass base_url, or set GENWAY_BASE_URL.")
        self.base_url = base.rstrip("/")
        self.text_base_url = (text_base_url or os.environ.get("GENWAY_TEXT_BASE_URL") or base).rstrip("/")
        self.headers = {"authorization": f"Bearer {key}"}
        self.max_retries = max_retries
        self.timeout = timeout
        self.client = http_client or httpx.Client()

    def data(self, call: Call) -> Any:
        return (self.json(call))["data"]

    def json(self, call: Call, max_retries: Optional[int] = None, timeout: Optional[float] = None) -> Any:
        return self._send(call, False, max_retries, timeout)

    def events(self, call: Call) -> Iterator[dict[str, Any]]:
        """The events of the answer. The time limit is that of its start."""
        return _events(self._send(call, True))

    def text(self, call: Call) -> str:
        text: str = self._send(call, False, as_text=True)
        return text

    def stream(self, call: Call) -> Iterator[bytes]:
        """The bytes of the answer while they arrive. The time limit is that of its start."""
        return _bytes(self._send(call, True))

    def _send(
        self,
        call: Call,
        stream: bool,
        max_retries: Optional[int] = None,
        timeout: Optional[float] = None,
        as_text: bool = False,
    ) -> Any:
        most = self.max_retries if max_retries is None else max_retries
        retries = 0
        while True:
            try:
                return self._attempt(call, stream, timeout, as_text)
            except (APIError, APIConnectionError) as error:
                if retries >= most or not _may_repeat(error, call, retries):
                    raise
                time.sleep(_pause(error, retries))
            retries += 1

    def _attempt(self, call: Call, stream: bool, given: Optional[float], as_text: bool) -> Any:
        timeout = min(given or self.timeout or (TEXT_MINUTES if call.is_text else 1) * MINUTE, MAX_TIMEOUT)
        until = time.monotonic() + timeout
        with _parts(call.upload) as files:
            request = self._request(call, files, timeout)
            try:
                response = self.client.send(request, stream=True)
                if stream and not response.is_error:
                    return response
                content = _read(response, until)
            except httpx.TimeoutException as error:
                raise APITimeoutError(f"No answer within {timeout:g} s.") from error
            except (httpx.TransportError, httpx.DecodingError) as error:
                raise APIConnectionError(f"No answer from {request.url.host}.") from error
        if as_text and not response.is_error:
            return content.decode()
        try:
            body = json.loads(content)
        except ValueError as error:
            if not response.is_error:
                raise APIConnectionError("The answer is not JSON: something other than Genway answered.") from error
            body = None
        if not response.is_error:
            return body
        raise error_of(
            response.status_code, body, response.headers.get("x-request-id"), response.headers.get("retry-after")
        )

    def _request(self, call: Call, files: Optional[Mapping[str, Any]], timeout: float) -> httpx.Request:
        key = {} if call.idempotency_key is None else {"idempotency-key": call.idempotency_key}
        return self.client.build_request(
            call.method,
            (self.text_base_url if call.is_text else self.base_url) + call.path,
            params={name: _written(value) for name, value in call.query.items() if value is not None},
            json=call.body,
            data=_fields(call.form),
            files=files,
            headers={**self.headers, **call.headers, **key},
            timeout=timeout,
        )


def _read(response: httpx.Response, until: float) -> bytes:
    """The whole body. The limit of httpx is that of each read, so a slow answer would never reach it."""
    chunks = []
    try:
        for chunk in response.iter_bytes():
            chunks.append(chunk)
            if time.monotonic() > until:
                raise httpx.ReadTimeout("The answer took too long.")
    finally:
        response.close()
    return b"".join(chunks)


@contextmanager
def _parts(upload: Optional[tuple[str, Uploadable]]) -> Generator[Optional[Mapping[str, Any]], None, None]:
    """The parts of a form. A file that was opened for it is closed afterwards."""
    if upload is None:
        yield None
        return
    name, file = upload
    if not isinstance(file, (str, Path)):
        yield {"file": (name, file)}
        return
    with open(file, "rb") as opened:
        yield {"file": (name, opened)}


def _fields(form: Optional[Body]) -> Optional[Mapping[str, Any]]:
    if form is None:
        return None
    given = {name: value for name, value in form.items() if value is not None}
    return {
        f"{name}[]" if isinstance(value, (list, tuple)) else name: value
        if isinstance(value, (list, tuple))
        else _written(value)
        for name, value in given.items()
    }


def _segment(id: str) -> str:
    return quote(id, safe="")


def _written(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.isoformat() if isinstance(value, datetime) else str(value)


def _may_repeat(error: Exception, call: Call, retries: int) -> bool:
    """What may have been done is sent again only if it is done once however often it is sent."""
    if call.upload is not None and not isinstance(call.upload[1], (str, Path, bytes)):
        return False
    is_done_once = call.idempotency_key is not None or call.is_read or call.method != "POST"
    if isinstance(error, APIError):
        if error.code == "idempotency_conflict":
            # The attempt before is still being processed.
            return retries > 0
        # Without a code, the answer comes from a proxy, which does not know what was done. Failed text costs nothing.
        return error.retryable and (is_done_once or error.code != "" and (call.is_text or error.status == 429))
    return is_done_once or isinstance(error.__cause__, NOT_SENT)


def _pause(error: Exception, retries: int) -> float:
    asked = error.retry_after_seconds if isinstance(error, APIError) else None
    return max(min(asked or 0.0, MAX_ASKED), min(FIRST_PAUSE * 2.0**retries, MAX_PAUSE) * random.uniform(0.5, 1))


def _events(response: httpx.Response) -> Iterator[dict[str, Any]]:
    """The JSON of each event of a stream: https://html.spec.whatwg.org/multipage/server-sent-events.html"""
    try:
        for line in response.iter_lines():
            data = line.removeprefix("data:").strip() if line.startswith("data:") else ""
            if data == "[DONE]":
                return
            if data:
                event = json.loads(data)
                if isinstance(event.get("error"), dict):
                    raise error_of(503, event, response.headers.get("x-request-id"))
                yield event
    except httpx.TransportError as error:
        raise APIConnectionError("The stream broke off.") from error
    finally:
        response.close()


def _bytes(response: httpx.Response) -> Iterator[bytes]:
    try:
        for chunk in response.iter_bytes():
            yield chunk
    except httpx.TransportError as error:
        raise APIConnectionError("The answer broke off.") from error
    finally:
        response.close()


class List(Generic[Item]):
    """A list that comes in pages. Iterating goes on through all pages."""

    def __init__(self, http: Http, path: str, query: Body) -> None:
        self._http, self._path, self._query = http, path, query

    def page(self, cursor: Optional[str] = None) -> tuple[list[Item], Optional[str]]:
        """The items of a page, and the cursor of the next page; None on the last page."""
        answer = self._http.json(Call("GET", self._path, query={**self._query, "cursor": cursor}))
        return answer["data"], answer["next_cursor"]

    def __iter__(self) -> Iterator[Item]:
        cursor = None
        while True:
            items, cursor = self.page(cursor)
            for item in items:
                yield item
            if cursor is None:
                return


class CreatedTask:
    """A task that was created. `task` is the task as it was created; `wait()` gives the task with its result."""

    def __init__(self, task: types.Task, tasks: Tasks) -> None:
        self.task = task
        self.id = task["id"]
        self._tasks = tasks

    def wait(
        self,
        on_progress: Optional[Callable[[types.Task], None]] = None,
        timeout: float = 3600,
        poll: Optional[float] = None,
    ) -> types.Task:
        """Raises TaskFailedError or WaitTimeoutError. `poll` defaults to what the task asks for."""
        return self._tasks.wait(self.task, on_progress, timeout, poll)


class Tasks:
    def __init__(self, http: Http) -> None:
        self._http = http

    def get(self, id: str) -> types.Task:
        task: types.Task = self._http.data(Call("GET", f"/v1/tasks/{_segment(id)}"))
        return task

    def list(
        self,
        *,
        status: Optional[str] = None,
        task_kind: Optional[str] = None,
        model: Optional[str] = None,
        from_: Optional[Moment] = None,
        to: Optional[Moment] = None,
        limit: Optional[int] = None,
    ) -> List[types.Task]:
        query = {"status": status, "task_kind": task_kind, "model": model, "from": from_, "to": to, "limit": limit}
        return List(self._http, "/v1/tasks", query)

    def cancel(self, id: str) -> types.Task:
        """Ends a task that no model renders yet, and refunds it. Raises ConflictError when it is too late."""
        task: types.Task = self._http.data(Call("POST", f"/v1/tasks/{_segment(id)}/cancel"))
        return task

    def wait(
        self,
        task: Union[str, types.Task],
        on_progress: Optional[Callable[[types.Task], None]] = None,
        timeout: float = 3600,
        poll: Optional[float] = None,
    ) -> types.Task:
        """The task once it has succeeded. Goes on while the API cannot be reached, because the task does.

        Raises TaskFailedError or WaitTimeoutError. `poll` defaults to what the task asks for.
        """
        latest = self.get(task) if isinstance(task, str) else task
        until = time.monotonic() + min(timeout, MAX_TIMEOUT)
        while True:
            if on_progress:
                on_progress(latest)
            if latest["status"] == "succeeded":
                return latest
            if latest["status"] == "failed":
                raise TaskFailedError(latest)
            left = until - time.monotonic()
            if left <= 0:
                raise WaitTimeoutError(latest)
            time.sleep(min(poll or latest.get("poll_after_seconds", POLL_SECONDS), left))
            try:
                # This loop is the retry.
                call = Call("GET", f"/v1/tasks/{_segment(latest['id'])}")
                left = until - time.monotonic()
                latest = (self._http.json(call, 0, min(max(left, MIN_READ), MINUTE)))["data"]
            except APIConnectionError:
                pass
            except APIError as error:
                if not error.retryable:
                    raise


class Media:
    """Creates tasks of one kind."""

    def __init__(self, http: Http, tasks: Tasks, kind: str) -> None:
        self._http, self._tasks, self._kind = http, tasks, kind

    def create(
        self, *, model: str, prompt: str, idempotency_key: Optional[str] = None, **fields: Any
    ) -> CreatedTask:
        """`fields` are those of the model, such as `images`, `duration` or `resolution`: capabilities.inspect describes them."""
        key = idempotency_key or str(uuid.uuid4())
        body = {"model": model, "prompt": prompt, **fields}
        call = Call("POST", f"/v1/{self._kind}s/tasks", body=body, idempotency_key=key)
        return CreatedTask(self._http.data(call), self._tasks)

    def list(
        self,
        *,
        status: Optional[str] = None,
        model: Optional[str] = None,
        from_: Optional[Moment] = None,
        to: Optional[Moment] = None,
        limit: Optional[int] = None,
    ) -> List[types.Task]:
        return self._tasks.list(task_kind=self._kind, status=status, model=model, from_=from_, to=to, limit=limit)


class Files:
    def __init__(self, http: Http) -> None:
        self._http = http

    def upload(
        self, file: Uploadable, name: Optional[str] = None, purpose: Optional[Literal["batch"]] = None
    ) -> types.UploadedFile:
        """Uploads a file, whose `url` media requests take, or the input of a batch."""
        known = name or (Path(file).name if isinstance(file, (str, Path)) else "file")
        form = {"purpose": purpose} if purpose else None
        call = Call("POST", "/v1/files", upload=(known, file), form=form)
        stored: types.UploadedFile = self._http.data(call)
        return stored

    def content(self, id: str) -> Iterator[bytes]:
        """The bytes of a file of a batch, as they arrive."""
        return self._http.stream(Call("GET", f"/v1/files/{_segment(id)}/content"))

    def get(self, id: str) -> types.UploadedFile:
        stored: types.UploadedFile = self._http.data(Call("GET", f"/v1/files/{_segment(id)}"))
        return stored

    def list(self, *, limit: Optional[int] = None) -> List[types.UploadedFile]:
        return List(self._http, "/v1/files", {"limit": limit})

    def delete(self, id: str) -> types.DeletedFile:
        deleted: types.DeletedFile = self._http.data(Call("DELETE", f"/v1/files/{_segment(id)}"))
        return deleted


class CreatedBatch:
    """A batch that was created. `batch` is the batch as it was created; `wait()` gives the batch once it has ended."""

    def __init__(self, batch: types.Batch, batches: Batches) -> None:
        self.batch = batch
        self.id = batch["id"]
        self._batches = batches

    def wait(
        self,
        on_progress: Optional[Callable[[types.Batch], None]] = None,
        timeout: float = DAY_AND_HOUR,
        poll: float = POLL_SECONDS,
    ) -> types.Batch:
        """Raises WaitTimeoutError. `request_counts` of the batch has the progress."""
        return self._batches.wait(self.batch, on_progress, timeout, poll)


class Batches:
    def __init__(self, http: Http, files: Files) -> None:
        self._http, self._files = http, files

    def create(
        self, *, input_file_id: str, endpoint: str, completion_window: str = "24h", **fields: Any
    ) -> CreatedBatch:
        """Creates a batch of the requests in a file with the purpose `batch`."""
        body = {"input_file_id": input_file_id, "endpoint": endpoint, "completion_window": completion_window, **fields}
        return CreatedBatch(self._http.json(Call("POST", "/v1/batches", body=body)), self)

    def get(self, id: str) -> types.Batch:
        batch: types.Batch = self._http.json(Call("GET", f"/v1/batches/{_segment(id)}"))
        return batch

    def list(self, *, limit: Optional[int] = None) -> List[types.Batch]:
        return List(self._http, "/v1/batches", {"limit": limit})

    def cancel(self, id: str) -> types.Batch:
        """Starts no further request. Requests in progress end, and are charged."""
        batch: types.Batch = self._http.json(Call("POST", f"/v1/batches/{_segment(id)}/cancel"))
        return batch

    def wait(
        self,
        batch: Union[str, types.Batch],
        on_progress: Optional[Callable[[types.Batch], None]] = None,
        timeout: float = DAY_AND_HOUR,
        poll: float = POLL_SECONDS,
    ) -> types.Batch:
        """The batch once it has ended, however it ended. Goes on while the API cannot be reached.

        Raises WaitTimeoutError.
        """
        latest = self.get(batch) if isinstance(batch, str) else batch
        until = time.monotonic() + min(timeout, MAX_TIMEOUT)
        while True:
            if on_progress:
                on_progress(latest)
            if latest["status"] in ("completed", "failed", "expired", "cancelled"):
                return latest
            left = until - time.monotonic()
            if left <= 0:
                raise WaitTimeoutError(latest)
            time.sleep(min(poll, left))
            try:
                # This loop is the retry.
                call = Call("GET", f"/v1/batches/{_segment(latest['id'])}")
                left = until - time.monotonic()
                latest = self._http.json(call, 0, min(max(left, MIN_READ), MINUTE))
            except APIConnectionError:
                pass
            except APIError as error:
                if not error.retryable:
                    raise

    def results(self, batch: types.Batch) -> Iterator[dict[str, Any]]:
        """Each request of a batch that has ended, in any order: those with an answer first."""
        for id in filter(None, (batch["output_file_id"], batch["error_file_id"])):
            rest = b""
            for piece in self._files.content(id):
                *lines, rest = (rest + piece).split(b"\n")
                for line in lines:
                    yield json.loads(line)


class Webhooks:
    def __init__(self, http: Http) -> None:
        self._http = http

    def _webhook(self, method: str, path: str = "", body: Optional[Body] = None) -> types.Webhook:
        key = str(uuid.uuid4()) if method == "POST" and path == "" else None
        call = Call(method, f"/v1/webhooks{path}", body=body, idempotency_key=key)
        webhook: types.Webhook = self._http.data(call)
        return webhook

    def create(self, *, url: str, **fields: Any) -> types.Webhook:
        """The answer has the secret, which is not shown again."""
        return self._webhook("POST", body={"url": url, **fields})

    def get(self, id: str) -> types.Webhook:
        return self._webhook("GET", f"/{_segment(id)}")

    def list(self, *, limit: Optional[int] = None) -> List[types.Webhook]:
        return List(self._http, "/v1/webhooks", {"limit": limit})

    def update(self, id: str, **changes: Any) -> types.Webhook:
        return self._webhook("PATCH", f"/{_segment(id)}", changes)

    def delete(self, id: str) -> None:
        self._webhook("DELETE", f"/{_segment(id)}")

    def rotate_secret(self, id: str) -> types.Webhook:
        return self._webhook("POST", f"/{_segment(id)}/rotate-secret")

    def send_test(self, id: str) -> types.Delivery:
        delivery: types.Delivery = self._http.data(Call("POST", f"/v1/webhooks/{_segment(id)}/test"))
        return delivery

    def deliveries(
        self, id: str, *, status: Optional[str] = None, limit: Optional[int] = None
    ) -> List[types.Delivery]:
        return List(self._http, f"/v1/webhooks/{_segment(id)}/deliveries", {"status": status, "limit": limit})

    def redeliver(self, id: str, delivery_id: str) -> types.Delivery:
        path = f"/v1/webhooks/{_segment(id)}/deliveries/{_segment(delivery_id)}/redeliver"
        delivery: types.Delivery = self._http.data(Call("POST", path))
        return delivery

    def redeliver_many(
        self, id: str, *, from_: Optional[Moment] = None, to: Optional[Moment] = None, status: Optional[str] = None
    ) -> dict[str, Any]:
        """Sends many deliveries again: those of events from `from_` to `to`. While `has_more` is true, call it again."""
        given = {"from": from_, "to": to, "status": status}
        body = {
            name: value.isoformat() if isinstance(value, datetime) else value
            for name, value in given.items()
            if value is not None
        }
        redelivered: dict[str, Any] = self._http.data(
            Call("POST", f"/v1/webhooks/{_segment(id)}/redeliver", body=body)
        )
        return redelivered


class Models:
    def __init__(self, http: Http) -> None:
        self._http = http

    def list(self, *, all: bool = False) -> Sequence[types.Model]:
        """`all` also lists the models that the key cannot call."""
        models: Sequence[types.Model] = self._http.data(Call("GET", "/v1/models", query={"all": all}))
        return models

    def get(self, id: str) -> types.Model:
        model: types.Model = self._http.json(Call("GET", f"/v1/models/{_segment(id)}"))
        return model


class Balance:
    def __init__(self, http: Http) -> None:
        self._http = http

    def get(self) -> types.Balance:
        balance: types.Balance = self._http.data(Call("GET", "/v1/balance"))
        return balance

    def update(self, **changes: Any) -> types.Balance:
        balance: types.Balance = self._http.data(Call("PATCH", "/v1/balance", body=changes))
        return balance


class Usage:
    def __init__(self, http: Http) -> None:
        self._http = http

    def days(
        self, *, from_: Optional[Moment] = None, to: Optional[Moment] = None
    ) -> Sequence[types.DailyUsage]:
        """By day, model and key, the newest day first."""
        days: Sequence[types.DailyUsage] = self._http.data(Call("GET", "/v1/usage", {"from": from_, "to": to}))
        return days

    def end_users(
        self, *, from_: Optional[Moment] = None, to: Optional[Moment] = None
    ) -> Sequence[types.EndUserUsage]:
        """By the end users whom text requests named, who was charged most first."""
        query = {"from": from_, "to": to}
        users: Sequence[types.EndUserUsage] = self._http.data(Call("GET", "/v1/usage/end-users", query))
        return users

    def requests(
        self,
        *,
        from_: Optional[Moment] = None,
        to: Optional[Moment] = None,
        api_key_id: Optional[str] = None,
        model: Optional[str] = None,
        limit: Optional[int] = None,
    ) -> List[types.TextRequest]:
        """Text requests, the newest first."""
        query = {"from": from_, "to": to, "api_key_id": api_key_id, "model": model, "limit": limit}
        return List(self._http, "/v1/usage/requests", query)


class Capabilities:
    def __init__(self, http: Http) -> None:
        self._http = http

    def search(self, **request: Any) -> Sequence[types.FoundCapability]:
        found: Sequence[types.FoundCapability] = self._http.data(
            Call("POST", "/v1/capabilities/search", body=request, is_read=True)
        )
        return found

    def inspect(self, capability_id: str) -> types.Capability:
        body = {"capability_id": capability_id}
        call = Call("POST", "/v1/capabilities/inspect", body=body, is_read=True)
        capability: types.Capability = self._http.data(call)
        return capability

    def run(self, *, idempotency_key: Optional[str] = None, **request: Any) -> dict[str, Any]:
        key = idempotency_key or str(uuid.uuid4())
        call = Call("POST", "/v1/capabilities/run", body=request, idempotency_key=key)
        result: dict[str, Any] = self._http.data(call)
        return result


class Text(Generic[Item]):
    """Text in one wire format. The vendors' SDKs have types for the fields."""

    def __init__(self, http: Http, path: str, headers: Optional[Mapping[str, str]] = None) -> None:
        self._http, self._path, self._headers = http, path, headers or {}

    def _call(self, request: Body) -> Call:
        return Call("POST", self._path, body=request, headers=self._headers, is_text=True)

    @overload
    def create(self, *, stream: Literal[True], **request: Any) -> Iterator[dict[str, Any]]: ...

    @overload
    def create(self, *, stream: Literal[False] = False, **request: Any) -> Item: ...

    def create(self, *, stream: bool = False, **request: Any) -> Union[Item, Iterator[dict[str, Any]]]:
        """The answer, or its events with `stream=True`."""
        if stream:
            return self._http.events(self._call({**request, "stream": True}))
        answer: Item = self._http.json(self._call(request))
        return answer


class Chat:
    def __init__(self, http: Http) -> None:
        self.completions: Text[types.ChatCompletion] = Text(http, "/v1/chat/completions")


class Speech:
    def __init__(self, http: Http) -> None:
        self._http = http

    def create(self, *, model: str, input: str, voice: Any, **fields: Any) -> Iterator[bytes]:
        """The bytes of the file while it is made. `fields` are those of the contract, such as `response_format`."""
        body = {"model": model, "input": input, "voice": voice, **fields}
        return self._http.stream(Call("POST", "/v1/audio/speech", body=body, is_text=True))


class Listener:
    """The text of speech."""

    def __init__(self, http: Http, path: str) -> None:
        self._http, self._path = http, path

    def create(self, file: Uploadable, *, model: str, name: Optional[str] = None, **fields: Any) -> Any:
        """An object with `text`; with the `response_format` text, srt or vtt, a text; with `stream=True`, events."""
        known = name or (Path(file).name if isinstance(file, (str, Path)) else "file")
        form = {"model": model, **fields}
        call = Call("POST", self._path, upload=(known, file), form=form, is_text=True)
        if fields.get("stream"):
            return self._http.events(call)
        if fields.get("response_format") in ("text", "srt", "vtt"):
            return self._http.text(call)
        return self._http.json(call)


class Audio:
    def __init__(self, http: Http) -> None:
        self.speech = Speech(http)
        self.transcriptions = Listener(http, "/v1/audio/transcriptions")
        self.translations = Listener(http, "/v1/audio/translations")


class Genway:
    """The client. The key and the addresses default to GENWAY_API_KEY, GENWAY_BASE_URL and GENWAY_TEXT_BASE_URL."""

    def __init__(
        self,
        api_key: Optional[str] = None,
        base_url: Optional[str] = None,
        text_base_url: Optional[str] = None,
        *,
        max_retries: int = 3,
        timeout: Optional[float] = None,
        http_client: Optional[httpx.Client] = None,
    ) -> None:
        """`timeout` is that of one attempt, in seconds: a minute by default, and ten for text."""
        http = self._http = Http(api_key, base_url, text_base_url, max_retries, timeout, http_client)
        self.tasks = Tasks(http)
        self.videos = Media(http, self.tasks, "video")
        self.images = Media(http, self.tasks, "image")
        self.files = Files(http)
        self.batches = Batches(http, self.files)
        self.webhooks = Webhooks(http)
        self.models = Models(http)
        self.balance = Balance(http)
        self.usage = Usage(http)
        self.capabilities = Capabilities(http)
        self.chat = Chat(http)
        self.audio = Audio(http)
        self.responses: Text[types.ResponsesResponse] = Text(http, "/v1/responses")
        self.messages: Text[types.Message] = Text(http, "/v1/messages", {"msgfmt-version": "2023-06-01"})

    @overload
    def generate(
        self, model: str, *, stream: Literal[True], **request: Any
    ) -> Iterator[dict[str, Any]]: ...

    @overload
    def generate(
        self, model: str, *, stream: Literal[False] = False, **request: Any
    ) -> types.GenerateContentResponse: ...

    def generate(
        self, model: str, *, stream: bool = False, **request: Any
    ) -> Union[types.GenerateContentResponse, Iterator[dict[str, Any]]]:
        """The native format: the answer, or its events with `stream=True`."""
        path = f"/v1beta/models/{_segment(model)}"
        if stream:
            path += ":streamGenerateContent"
            return self._http.events(Call("POST", path, {"alt": "sse"}, request, is_text=True))
        answer: types.GenerateContentResponse = self._http.json(
            Call("POST", f"{path}:generateContent", body=request, is_text=True)
        )
        return answer

    def rerank(
        self, *, model: str, query: str, documents: Sequence[Union[str, Mapping[str, Any]]], **fields: Any
    ) -> types.RerankResponse:
        """Ranks documents by a query, best first. `fields` are those of the contract, such as `top_n`."""
        body = {"model": model, "query": query, "documents": documents, **fields}
        answer: types.RerankResponse = self._http.json(Call("POST", "/v1/rerank", body=body, is_text=True))
        return answer

    def with_options(self, *, max_retries: Optional[int] = None, timeout: Optional[float] = None) -> Genway:
        """The same client with another number of retries or another time limit, over the same connections."""
        http = self._http
        return Genway(
            http.headers["authorization"].removeprefix("Bearer "),
            http.base_url,
            http.text_base_url,
            max_retries=http.max_retries if max_retries is None else max_retries,
            timeout=http.timeout if timeout is None else timeout,
            http_client=http.client,
        )

    def close(self) -> None:
        self._http.client.close()

    def __enter__(self) -> Genway:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
