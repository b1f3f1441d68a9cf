import asyncio
import os

os.environ["GOOGLE_API_KEY"] = os.environ["API_KEY"]
os.environ["GOOGLE_GEMINI_BASE_URL"] = os.environ["BASE_URL"]

from google.adk.agents import LlmAgent
from google.adk.models.google_llm import Gemini
from google.adk.runners import InMemoryRunner
from google.genai import types
from pydantic import BaseModel

from check import *


class Place(BaseModel):
    city: str


async def run(prompt, **settings):
    agent = LlmAgent(name="agent", model=Gemini(model=MODEL), **settings)
    runner = InMemoryRunner(agent=agent, app_name="clients")
    session = await runner.session_service.create_session(app_name="clients", user_id="user")
    message = types.Content(role="user", parts=[types.Part(text=prompt)])
    texts = []
    async for event in runner.run_async(user_id="user", session_id=session.id, new_message=message):
        texts += [part.text for part in (event.content.parts if event.content else []) if part.text]
    return "".join(texts)


async def main():
    expect("turn", await run(SAY), "lighthouse")
    expect("tools", await run(CALL, tools=[look]), "rain in Oslo")
    expect("structured", await run("Name a city.", output_schema=Place), '"city"')


asyncio.run(main())
report()
