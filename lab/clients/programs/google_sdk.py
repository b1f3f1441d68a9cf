import base64

from google import genai
from google.genai import types

from check import *

client = genai.Client()


def ask(contents, **config):
    return client.models.generate_content(
        model=MODEL, contents=contents, config=types.GenerateContentConfig(**config)
    )


expect("turn", ask(SAY).text, "lighthouse")
stream = client.models.generate_content_stream(model=MODEL, contents=SAY)
expect("stream", "".join(chunk.text or "" for chunk in stream), "lighthouse")
expect("tools", ask(CALL, tools=[look]).text, "rain in Oslo")
structured = ask("Name a city.", response_mime_type="application/json", response_json_schema=SCHEMA)
expect("structured", structured.text, '"city"')
picture = types.Part.from_bytes(data=base64.b64decode(PIXEL), mime_type="image/png")
expect("image", ask([SAY, picture]).text, "light")
thoughts = ask("Think.", thinking_config=types.ThinkingConfig(include_thoughts=True))
expect("thinking", [part.thought for part in thoughts.candidates[0].content.parts], "True")
report()
