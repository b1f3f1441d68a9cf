import json

import litellm

from check import *


def complete(provider, base, messages, **settings):
    return litellm.completion(
        model=f"{provider}/{MODEL}", api_key=API_KEY, api_base=base, messages=messages, max_tokens=4000, **settings
    )


def ask(content):
    return [{"role": "user", "content": content}]


tools = [{"type": "function", "function": {"name": "look", "description": "Looks", "parameters": SCHEMA}}]
for provider, base in (("openai", f"{BASE_URL}/v1"), ("anthropic", BASE_URL)):
    expect("turn", complete(provider, base, ask(SAY)).choices[0].message.content, "lighthouse")
    stream = complete(provider, base, ask(SAY), stream=True)
    expect("stream", "".join(chunk.choices[0].delta.content or "" for chunk in stream), "lighthouse")
    messages = ask(CALL)
    called = complete(provider, base, messages, tools=tools).choices[0].message
    call = called.tool_calls[0]
    content = look(**json.loads(call.function.arguments))
    messages += [called.model_dump(), {"role": "tool", "tool_call_id": call.id, "content": content}]
    expect("tools", complete(provider, base, messages, tools=tools).choices[0].message.content, "rain in Oslo")
    picture = [{"type": "text", "text": SAY}, {"type": "image_url", "image_url": {"url": PICTURE}}]
    expect("image", complete(provider, base, ask(picture)).choices[0].message.content, "lighthouse")
schema = {"type": "json_schema", "json_schema": {"name": "place", "schema": SCHEMA, "strict": True}}
structured = complete("openai", f"{BASE_URL}/v1", ask("Name a city."), response_format=schema)
expect("structured", structured.choices[0].message.content, '"city"')
report()
