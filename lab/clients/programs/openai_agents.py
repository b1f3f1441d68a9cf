import asyncio

from agents import Agent, OpenAIChatCompletionsModel, OpenAIResponsesModel, Runner, function_tool, set_tracing_disabled
from openai import AsyncOpenAI
from pydantic import BaseModel

from check import *

set_tracing_disabled(True)
client = AsyncOpenAI(api_key=API_KEY, base_url=f"{BASE_URL}/v1")


class Place(BaseModel):
    city: str


async def streamed(agent):
    run = Runner.run_streamed(agent, SAY)
    async for _ in run.stream_events():
        pass
    return run.final_output


for kind in (OpenAIResponsesModel, OpenAIChatCompletionsModel):
    model = kind(model=MODEL, openai_client=client)
    agent = Agent(name="plain", model=model)
    expect("turn", Runner.run_sync(agent, SAY).final_output, "lighthouse")
    expect("stream", asyncio.get_event_loop().run_until_complete(streamed(agent)), "lighthouse")
    tools = Agent(name="tools", model=model, tools=[function_tool(look)])
    expect("tools", Runner.run_sync(tools, CALL).final_output, "rain in Oslo")
    picture = [{"type": "input_text", "text": SAY}, {"type": "input_image", "image_url": PICTURE, "detail": "auto"}]
    expect("image", Runner.run_sync(agent, [{"role": "user", "content": picture}]).final_output, "lighthouse")
    structured = Agent(name="structured", model=model, output_type=Place)
    expect("structured", type(Runner.run_sync(structured, "Name a city.").final_output), "Place")
report()
