import json
import os
import tempfile
import time

from openai import OpenAI
from pydantic import BaseModel

from check import *

client = OpenAI()
media = OpenAI(base_url=f"{API_URL}/v1")


class Place(BaseModel):
    city: str


def ask(content):
    return [{"role": "user", "content": content}]


answer = client.chat.completions.create(model=MODEL, messages=ask(SAY))
expect("turn", answer.choices[0].message.content, "lighthouse")
with client.chat.completions.stream(model=MODEL, messages=ask(SAY)) as stream:
    expect("stream", stream.get_final_completion().choices[0].message.content, "lighthouse")
tools = [{"type": "function", "function": {"name": "look", "parameters": SCHEMA}}]
messages = ask(CALL)
called = client.chat.completions.create(model=MODEL, messages=messages, tools=tools).choices[0].message
call = called.tool_calls[0]
messages += [called, {"role": "tool", "tool_call_id": call.id, "content": look(**json.loads(call.function.arguments))}]
final = client.chat.completions.create(model=MODEL, messages=messages, tools=tools)
expect("tools", final.choices[0].message.content, "rain in Oslo")
parsed = client.chat.completions.parse(model=MODEL, messages=ask("Name a city."), response_format=Place)
expect("structured", type(parsed.choices[0].message.parsed), "Place")
picture = [{"type": "text", "text": SAY}, {"type": "image_url", "image_url": {"url": PICTURE}}]
expect("image", client.chat.completions.create(model=MODEL, messages=ask(picture)).choices[0].message.content, "light")
response = client.responses.parse(model=MODEL, input="Name a city.", text_format=Place, reasoning={"effort": "low"})
expect("responses", type(response.output_parsed), "Place")
embedded = client.embeddings.create(model="textm-embed", input=["One", "Two"], dimensions=3)
expect("embeddings", [len(vector.embedding) for vector in embedded.data], "[3, 3]")
folder = tempfile.mkdtemp()
path = os.path.join(folder, "speech.wav")
speech = {"model": "voice-tts", "voice": "alloy", "input": "One two three", "response_format": "wav"}
with client.audio.speech.with_streaming_response.create(**speech) as spoken:
    spoken.stream_to_file(path)
with open(path, "rb") as file:
    heard = {"model": "voice-stt", "prompt": "[sim:say=Good_morning.]"}
    expect("speech", os.path.getsize(path) > 1_000, "True")
    expect("transcription", client.audio.transcriptions.create(file=file, **heard).text, "Good morning.")
pictures = media.images.generate(model="imagea-2.5-sunburst", prompt="A fox", n=2, response_format="b64_json")
expect("pictures", [bool(one.b64_json) for one in pictures.data], "[True, True]")
video = media.videos.create_and_poll(model="vidone-3.0", prompt="A fox", seconds="4", size="720x1280")
content = media.videos.download_content(video.id).read()
expect("video", (video.status, len(content) > 1_000, media.videos.delete(video.id).deleted), "('completed', True, True)")
secret = media.realtime.client_secrets.create(session={"type": "realtime", "model": "demo-realtime"})
browser = OpenAI(api_key=secret.value, websocket_base_url=f"{API_URL.replace('http', 'ws', 1)}/v1")
with browser.realtime.connect(model="demo-realtime") as connection:
    tools = [{"type": "function", "name": "look", "parameters": SCHEMA}]
    connection.session.update(session={"type": "realtime", "output_modalities": ["text"], "tools": tools})
    message = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": CALL}]}
    connection.conversation.item.create(item=message)
    connection.response.create()
    for event in connection:
        if event.type == "error":
            raise RuntimeError(event.error.message)
        if event.type == "response.function_call_arguments.done":
            output = look(**json.loads(event.arguments))
            result = {"type": "function_call_output", "call_id": event.call_id, "output": output}
            connection.conversation.item.create(item=result)
        if event.type == "response.done":
            if event.response.output[0].type != "function_call":
                break
            connection.response.create()
        if event.type == "response.output_text.done":
            expect("realtime", event.text, "rain in Oslo")
requests = os.path.join(folder, "requests.jsonl")
with open(requests, "w") as file:
    for name in ("first", "second"):
        body = {"model": MODEL, "messages": ask(SAY)}
        file.write(json.dumps({"custom_id": name, "method": "POST", "url": "/v1/chat/completions", "body": body}) + "\n")
with open(requests, "rb") as file:
    stored = client.files.create(file=file, purpose="batch")
batch = client.batches.create(
    input_file_id=stored.id, endpoint="/v1/chat/completions", completion_window="24h", metadata={"kind": "test"}
)
while batch.status not in ("completed", "failed", "expired", "cancelled"):
    time.sleep(0.5)
    batch = client.batches.retrieve(batch.id)
expect("batch", (batch.status, batch.request_counts.completed), "('completed', 2)")
answers = [json.loads(line) for line in client.files.content(batch.output_file_id).text.splitlines()]
expect("batch results", [one["response"]["body"]["choices"][0]["message"]["content"] for one in answers], "lighthouse")
report()
