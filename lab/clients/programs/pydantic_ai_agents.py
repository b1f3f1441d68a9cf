import base64

from pydantic import BaseModel
from pydantic_ai import Agent, BinaryContent
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.google import GoogleModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.google import GoogleProvider
from pydantic_ai.providers.openai import OpenAIProvider

from check import *

openai = OpenAIProvider(api_key=API_KEY, base_url=f"{BASE_URL}/v1")
models = [
    OpenAIChatModel(MODEL, provider=openai),
    OpenAIResponsesModel(MODEL, provider=openai),
    AnthropicModel(MODEL, provider=AnthropicProvider(api_key=API_KEY, base_url=BASE_URL)),
    GoogleModel(MODEL, provider=GoogleProvider(api_key=API_KEY, base_url=BASE_URL)),
]


class Place(BaseModel):
    city: str


for model in models:
    agent = Agent(model)
    expect("turn", agent.run_sync(SAY).output, "lighthouse")
    expect("stream", agent.run_stream_sync(SAY).get_output(), "lighthouse")
    expect("tools", Agent(model, tools=[look]).run_sync(CALL).output, "rain in Oslo")
    expect("structured", type(Agent(model, output_type=Place).run_sync("Name a city.").output), "Place")
    picture = BinaryContent(base64.b64decode(PIXEL), media_type="image/png")
    expect("image", agent.run_sync([SAY, picture]).output, "light")
report()
