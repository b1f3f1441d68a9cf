import time

import anthropic

from check import *

client = anthropic.Anthropic()


def ask(content, **settings):
    messages = content if isinstance(content, list) else [{"role": "user", "content": content}]
    return client.messages.create(model=MODEL, max_tokens=4000, messages=messages, **settings)


expect("turn", ask(SAY).content[-1].text, "lighthouse")
messages = [{"role": "user", "content": SAY}]
with client.messages.stream(model=MODEL, max_tokens=4000, messages=messages, thinking={"type": "adaptive"}) as stream:
    final = stream.get_final_message()
expect("stream", final.content[-1].text, "lighthouse")
expect("thinking", [block.type for block in final.content], "thinking")
tools = [{"name": "look", "input_schema": SCHEMA}]
messages = [{"role": "user", "content": CALL}]
called = ask(messages, tools=tools)
call = next(block for block in called.content if block.type == "tool_use")
result = {"type": "tool_result", "tool_use_id": call.id, "content": look(**call.input)}
messages += [{"role": "assistant", "content": called.content}, {"role": "user", "content": [result]}]
expect("tools", ask(messages, tools=tools).content[-1].text, "rain in Oslo")
schema = {"format": {"type": "json_schema", "schema": SCHEMA}}
expect("structured", ask("Name a city.", output_config=schema).content[-1].text, '"city"')
source = {"type": "base64", "media_type": "image/png", "data": PIXEL}
picture = [{"role": "user", "content": [{"type": "image", "source": source}, {"type": "text", "text": SAY}]}]
expect("image", ask(picture).content[-1].text, "light")
counted = client.messages.count_tokens(model=MODEL, messages=[{"role": "user", "content": SAY}])
expect("count", counted.input_tokens > 0, "True")
params = {"model": MODEL, "max_tokens": 4000, "messages": [{"role": "user", "content": SAY}]}
requests = [{"custom_id": name, "params": params} for name in ("first", "second")]
batch = client.messages.batches.create(requests=requests)
while batch.processing_status != "ended":
    time.sleep(0.5)
    batch = client.messages.batches.retrieve(batch.id)
expect("batch", batch.request_counts.succeeded, "2")
results = [one.result for one in client.messages.batches.results(batch.id)]
expect("batch results", [one.message.content[-1].text for one in results], "lighthouse")
report()
