"""A webhook receiver in Python with nothing but the standard library.

    WEBHOOK_SECRET=whsec_… python3 docs/examples/webhook-receiver.py
"""

import hashlib
import hmac
import json
import os
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SECRET = os.environ["WEBHOOK_SECRET"]
PORT = int(os.environ.get("PORT", "3000"))
TOLERANCE_SECONDS = 300
MAX_BODY_BYTES = 1024 * 1024

# Events already handled; a real receiver keeps these ids in its database.
handled = set()


def is_genuine(timestamp: str, signature: str, body: bytes) -> bool:
    if not (timestamp.isascii() and timestamp.isdigit()):
        return False
    if abs(time.time() - int(timestamp)) > TOLERANCE_SECONDS:
        return False
    expected = hmac.new(SECRET.encode(), timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()
    return hmac.compare_digest(expected.encode(), signature.encode())


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        # 1. The raw bytes, before anything parses them.
        length = int(self.headers.get("Content-Length", 0))
        if length > MAX_BODY_BYTES:
            return self.answer(413)
        body = self.rfile.read(length)

        # 2. and 3. Who sent them, and when.
        timestamp = self.headers.get("x-svc-timestamp", "")
        signature = self.headers.get("x-svc-signature", "")
        if not is_genuine(timestamp, signature, body):
            return self.answer(401, b"invalid_signature")

        # 4. An event may come more than once: its id stays the same.
        event = json.loads(body)
        if event["id"] not in handled:
            handled.add(event["id"])
            print(event["type"], event["data"]["id"], flush=True)

        # 5. Answer quickly; do slow work afterwards.
        return self.answer(204)

    def answer(self, status: int, body: bytes = b"") -> None:
        self.send_response(status)
        if status != 204:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_arguments: object) -> None:
        """Keeps the output to the events."""


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", PORT), Receiver)
    print(f"listening on http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()
