import json
import os
import subprocess
import sys
import tempfile

from check import *

folder = tempfile.mkdtemp()
with open(os.path.join(folder, "extra-openai-models.yaml"), "w") as file:
    file.write(os.environ["CONFIG"])
with open(os.path.join(folder, "keys.json"), "w") as file:
    json.dump({"genway": API_KEY}, file)


def llm(*arguments):
    command = [sys.executable, "-m", "llm", "-m", "genway", *arguments]
    env = {**os.environ, "LLM_USER_PATH": folder}
    run = subprocess.run(command, env=env, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60)
    return run.stdout + run.stderr


expect("turn", llm("--no-stream", SAY), "lighthouse")
expect("stream", llm(SAY), "lighthouse")
functions = 'def look(city: str) -> str:\n    return "rain in " + city'
expect("tools", llm("--functions", functions, CALL), "rain in Oslo")
expect("structured", llm("--schema", json.dumps(SCHEMA), "Name a city."), '"city"')
expect("image", llm("-a", os.environ["PICTURE"], SAY), "lighthouse")
report()
