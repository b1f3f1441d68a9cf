"""Tests against a running Genway (GENWAY_API_KEY, GENWAY_BASE_URL) and against a server that fails on demand."""

import asyncio
import base64
import hashlib
import hmac
import inspect
import json
import os
import socket
import threading
import time
import unittest
from contextlib import suppress
from datetime import datetime, timedelta, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx

import genway
from genway import AsyncGenway, Genway, verify_webhook

IMAGE = "imagea-2.5-sunburst"


class Tasks(unittest.TestCase):
    def setUp(self):
        self.client = Genway()

    def test_a_task_is_created_and_waited_for(self):
        seen = []
        task = self.client.images.create(model=IMAGE, prompt="A fox").wait(on_progress=seen.append, poll=0.1)
        self.assertEqual(task["output"]["media"][0]["mime_type"], "image/png")
        self.assertEqual(seen[-1]["status"], "succeeded")

    def test_a_failed_task_raises_its_code(self):
        created = self.client.videos.create(model="vidone-3.0", prompt="x [sim:fail=content_policy_violation]")
        with self.assertRaises(genway.TaskFailedError) as raised:
            created.wait(poll=0.1)
        self.assertEqual((raised.exception.code, raised.exception.retryable), ("content_policy_violation", False))

    def test_a_task_that_is_not_final_in_time_raises_what_was_last_seen(self):
        created = self.client.videos.create(model="vidone-3.0", prompt="x [sim:stuck]")
        with self.assertRaises(genway.WaitTimeoutError) as raised:
            created.wait(timeout=0.2, poll=0.05)
        self.assertEqual(raised.exception.task["id"], created.id)

    def test_a_list_goes_on_through_all_pages(self):
        made = {self.client.images.create(model=IMAGE, prompt="A fox").id for _ in range(3)}
        self.assertLessEqual(made, {task["id"] for task in self.client.images.list(limit=1)})

    def test_files_are_uploaded_from_paths_bytes_and_open_files(self):
        with open(os.environ["PICTURE"], "rb") as opened:
            for file in (os.environ["PICTURE"], opened.read(), open(os.environ["PICTURE"], "rb")):
                stored = self.client.files.upload(file)
                self.assertEqual(stored["mime_type"], "image/png")
                self.assertTrue(self.client.files.delete(stored["id"])["deleted"])

    def test_refusals_are_errors_by_code(self):
        for error, call in (
            (genway.AuthenticationError, lambda: Genway(api_key="sk-x").balance.get()),
            (genway.NotFoundError, lambda: self.client.tasks.get("task_x")),
            (genway.BadRequestError, lambda: self.client.videos.create(model="x", prompt="x")),
        ):
            with self.assertRaises(error) as raised:
                call()
            self.assertRegex(raised.exception.request_id, "^req_")

    def test_documents_are_ranked(self):
        documents = ["Boats sail.", {"text": "Gannets nest on cliffs."}]
        ranked = self.client.rerank(
            model="textm-rerank", query="Gannets nest on cliffs?", documents=documents, top_n=1
        )
        self.assertEqual([result["index"] for result in ranked["results"]], [1])

    def test_text_is_answered_whole_and_as_a_stream(self):
        messages = [{"role": "user", "content": "Say exactly: hello"}]
        answer = self.client.chat.completions.create(model="textg-6-sol", messages=messages)
        self.assertEqual(answer["choices"][0]["message"]["content"], "hello")
        events = list(self.client.messages.create(model="texth-4-argon", max_tokens=50, messages=messages, stream=True))
        self.assertEqual((events[0]["type"], events[-1]["type"]), ("message_start", "message_stop"))
        broken = [{"role": "user", "content": "x [sim:fail=processing_failed,fail_after=4]"}]
        with self.assertRaises(genway.APIError):
            list(self.client.chat.completions.create(model="textg-6-sol", messages=broken, stream=True))
        contents = [{"role": "user", "parts": [{"text": "Say exactly: hello"}]}]
        whole = self.client.generate("texth-4-argon", contents=contents)
        pieces = list(self.client.generate("texth-4-argon", contents=contents, stream=True))
        for candidate in (whole["candidates"][0], pieces[-1]["candidates"][0]):
            self.assertEqual(candidate["finishReason"], "STOP")

    def test_webhooks_are_managed_and_sent_again(self):
        webhook = self.client.webhooks.create(url="https://example.com/hook")
        since = datetime.now(timezone.utc) - timedelta(hours=1)
        for moment in (since, int(since.timestamp()), since.isoformat()):
            again = self.client.webhooks.redeliver_many(webhook["id"], from_=moment, status="failed")
            self.assertEqual((again["count"], again["has_more"]), (0, False))
        self.client.webhooks.delete(webhook["id"])

    def test_a_client_with_other_options_is_the_same_client(self):
        other = self.client.with_options(max_retries=0, timeout=5)
        self.assertEqual(other.balance.get(), self.client.balance.get())

    def test_the_asynchronous_client_does_the_same(self):
        async def use() -> None:
            async with AsyncGenway() as client:
                created = await asyncio.gather(*(client.images.create(model=IMAGE, prompt="A fox") for _ in range(3)))
                tasks = await asyncio.gather(*(one.wait(poll=0.1) for one in created))
                self.assertEqual({task["status"] for task in tasks}, {"succeeded"})
                listed = [task["id"] async for task in client.images.list(limit=2)]
                self.assertLessEqual({one.id for one in created}, set(listed))
                messages = [{"role": "user", "content": "Say exactly: hello"}]
                stream = await client.chat.completions.create(model="textg-6-sol", messages=messages, stream=True)
                self.assertGreater(len([event async for event in stream]), 1)

        asyncio.run(use())


class Failing(BaseHTTPRequestHandler):
    answers: list = []
    keys: list = []

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"] or 0))
        Failing.keys.append(self.headers["idempotency-key"])
        answer = Failing.answers.pop(0) if Failing.answers else 200
        if answer == "reset":
            return self.connection.close()
        if answer == "slow":
            self.send_response(200)
            self.end_headers()
            with suppress(OSError):
                while True:
                    self.wfile.write(b" ")
                    time.sleep(0.05)
        code = "idempotency_conflict" if answer == 409 else "processing_unavailable"
        task = {"id": "task_1", "status": "succeeded" if self.command == "GET" else "queued"}
        body = {"data": task} if answer < 400 else {"error": {"code": code, "message": "x"}}
        self.send_response(answer)
        self.send_header("content-type", "application/json")
        self.end_headers()
        self.wfile.write(b"<html>" if answer == 504 else json.dumps(body).encode())

    do_GET = do_POST

    def log_message(self, *_):
        pass


class Unreachable(httpx.HTTPTransport):
    """Connects to a port without a listener."""

    def __init__(self):
        super().__init__()
        self.attempts = 0
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]

    def handle_request(self, request):
        self.attempts += 1
        request.url = request.url.copy_with(port=self.port)
        return super().handle_request(request)


class Retries(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = ThreadingHTTPServer(("127.0.0.1", 0), Failing)
        threading.Thread(target=cls.server.serve_forever, daemon=True).start()

    @classmethod
    def tearDownClass(cls):
        cls.server.shutdown()

    def setUp(self):
        Failing.answers, Failing.keys = [], []
        self.client = Genway(api_key="sk-x", base_url=f"http://127.0.0.1:{self.server.server_port}")

    def test_a_create_keeps_one_idempotency_key_through_failures(self):
        for failures in ([503, 429], ["reset", "reset"], ["reset", 409]):
            Failing.answers, Failing.keys = list(failures), []
            self.assertEqual(self.client.images.create(model="m", prompt="p").id, "task_1")
            self.assertEqual((len(Failing.keys), len(set(Failing.keys))), (3, 1))
            self.assertIsNotNone(Failing.keys[0])

    def test_a_create_gives_up_after_three_retries(self):
        Failing.answers = [503] * 4
        with self.assertRaises(genway.UnavailableError):
            self.client.images.create(model="m", prompt="p")
        self.assertEqual(len(Failing.keys), 4)

    def test_text_is_not_repeated_after_the_answer_of_a_proxy(self):
        for answer, sent in ((504, 1), (503, 2)):
            Failing.answers, Failing.keys = [answer], []
            try:
                self.client.chat.completions.create(model="m")
            except genway.APIError as error:
                self.assertEqual(error.code, "")
            self.assertEqual(len(Failing.keys), sent)

    def test_the_time_limit_holds_for_the_whole_answer_and_not_for_each_read(self):
        Failing.answers = ["slow"]
        started = time.monotonic()
        with self.assertRaises(genway.APITimeoutError):
            self.client.with_options(timeout=0.5, max_retries=0).images.create(model="m", prompt="p")
        self.assertLess(time.monotonic() - started, 5)

        async def wait() -> None:
            Failing.answers = ["slow"]
            url = self.client._http.base_url
            async with AsyncGenway(api_key="sk-x", base_url=url, timeout=0.5, max_retries=0) as client:
                with self.assertRaises(genway.APITimeoutError):
                    await client.images.create(model="m", prompt="p")

        asyncio.run(wait())

    def test_a_time_limit_of_any_size_is_a_time_limit(self):
        for limit in (10**400, 1e308, float("inf")):
            created = self.client.with_options(timeout=limit).images.create(model="m", prompt="p")
            self.assertEqual(created.wait(timeout=limit, poll=0.01)["status"], "succeeded")

    def test_reads_by_post_are_repeated_after_a_dropped_connection(self):
        for call in (lambda: self.client.capabilities.search(query="a"), lambda: self.client.capabilities.inspect("m")):
            Failing.answers, Failing.keys = ["reset"], []
            call()
            self.assertEqual(Failing.keys, [None, None])

    def test_a_call_is_repeated_when_no_connection_was_made_so_that_nothing_was_sent(self):
        for call in (
            lambda client: client.webhooks.rotate_secret("we_1"),
            lambda client: client.chat.completions.create(model="m"),
            lambda client: client.files.upload(b"x"),
        ):
            transport = Unreachable()
            client = httpx.Client(transport=transport)
            with self.assertRaises(genway.APIConnectionError):
                call(Genway("sk-x", "http://127.0.0.1", max_retries=1, http_client=client))
            self.assertEqual(transport.attempts, 2)

    def test_a_missing_file_is_named_by_its_path_and_nothing_is_sent(self):
        with self.assertRaisesRegex(FileNotFoundError, "no/such/picture.png"):
            self.client.files.upload("no/such/picture.png")
        self.assertEqual(Failing.keys, [])

    def test_a_call_without_a_key_is_not_repeated_when_it_may_have_been_done(self):
        Failing.answers = ["reset"]
        with self.assertRaises(genway.APIConnectionError):
            self.client.webhooks.rotate_secret("we_1")
        self.assertEqual(len(Failing.keys), 1)


class Readme(unittest.TestCase):
    def test_every_option_of_a_client_and_of_a_wait_is_listed(self):
        with open(os.path.join(os.path.dirname(__file__), "../README.md"), encoding="utf-8") as file:
            readme = file.read()
        for call in (Genway, AsyncGenway, genway.CreatedTask.wait, genway.AsyncCreatedTask.wait):
            for name in inspect.signature(call).parameters.keys() - {"self"}:
                self.assertIn(f"\n| `{name}` |", readme)


class Webhooks(unittest.TestCase):
    secret = "whsec_" + base64.b64encode(b"0" * 24).decode()
    body = b'{"id":"evt_1","type":"task.succeeded"}'

    def headers(self, at=None, key=b"0" * 24):
        timestamp = str(int(at or time.time()))
        digest = hmac.new(key, b"evt_1." + timestamp.encode() + b"." + self.body, hashlib.sha256).digest()
        signature = f"v1,AAAA v1,{base64.b64encode(digest).decode()}"
        return {"Webhook-Id": "evt_1", "Webhook-Timestamp": timestamp, "Webhook-Signature": signature}

    def test_what_the_secret_signed_is_accepted(self):
        self.assertEqual(verify_webhook(self.body, self.headers(), self.secret)["id"], "evt_1")

    def test_anything_else_is_refused(self):
        for body, headers in (
            (self.body + b" ", self.headers()),
            (self.body, self.headers(key=b"1" * 24)),
            (self.body, self.headers(at=time.time() - 301)),
            (self.body, {}),
            (self.body, {**self.headers(), "Webhook-Timestamp": "²"}),
            (self.body, {**self.headers(), "Webhook-Id": "\udc80"}),
            (self.body, {**self.headers(), "Webhook-Signature": "v1,\ud800"}),
            ("\ud800", self.headers()),
        ):
            with self.assertRaises(genway.WebhookVerificationError):
                verify_webhook(body, headers, self.secret)

    def test_a_timestamp_of_any_length_is_refused(self):
        for digits in (308, 309, 5000):
            with self.assertRaises(genway.WebhookVerificationError):
                verify_webhook(self.body, {**self.headers(), "Webhook-Timestamp": "9" * digits}, self.secret)

    def test_an_empty_secret_is_refused(self):
        for secret in ("", "whsec_"):
            with self.assertRaises(ValueError):
                verify_webhook(self.body, self.headers(key=b""), secret)


if __name__ == "__main__":
    unittest.main()
