import os
import subprocess
import sys
import tempfile

from check import *

folder = tempfile.mkdtemp()
settings = ["--openai-api-base", f"{BASE_URL}/v1", "--openai-api-key", API_KEY, "--model", f"openai/{MODEL}"]
quiet = ["--yes-always", "--no-git", "--no-check-update", "--no-show-model-warnings", "--no-analytics", "--no-pretty"]


def aider(message, *arguments):
    command = [sys.executable, "-m", "aider", *settings, *quiet, *arguments, "--message", message]
    env = {**os.environ, "HOME": folder}
    run = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=120)
    return run.stdout + run.stderr


expect("turn", aider(SAY, "--no-stream", "--chat-mode", "ask"), "lighthouse")
expect("stream", aider(SAY, "--chat-mode", "ask"), "lighthouse")
aider("Say exactly: notes.txt\n```\na lighthouse\n```\n", "--edit-format", "whole", "notes.txt")
with open(os.path.join(folder, "notes.txt")) as notes:
    expect("edit", notes.read(), "a lighthouse")
report()
