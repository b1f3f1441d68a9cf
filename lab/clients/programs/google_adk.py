import asyncio
import base64

from google.adk.agents import LlmAgent
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.models.google_llm import Gemini
from google.adk.runners import InMemoryRunner
from google.genai import types
from pydantic import BaseModel

from check import *


class Place(BaseModel):
    city: str


async def run(prompt, picture=None, streaming=StreamingMode.NONE, **settings):
    agent = LlmAgent(name="agent", model=Gemini(model=MODEL), **settings)
    runner = InMemoryRunner(agent=agent, app_name="clients")
    session = await runner.session_service.create_session(app_name="clients", user_id="user")
    parts = [types.Part(text=prompt)]
    if picture:
        parts.append(types.Part.from_bytes(data=picture, mime_type="image/png"))
    message = types.Content(role="user", parts=parts)
    config = RunConfig(streaming_mode=streaming)
    texts = []
    async for event in runner.run_async(
        user_id="user", session_id=session.id, new_message=message, run_config=config
    ):
        texts += [part.text for part in (event.content.parts if event.content else []) if part.text]
    return "".join(texts)


async def main():
    expect("turn", await run(SAY), "lighthouse")
    expect("stream", await run(SAY, streaming=StreamingMode.SSE), "lighthouse")
    expect("tools", await run(CALL, tools=[look]), "rain in Oslo")
    expect("structured", await run("Name a city.", output_schema=Place), '"city"')
    expect("image", await run(SAY, picture=base64.b64decode(PIXEL)), "lighthouse")


asyncio.run(main())
report()
