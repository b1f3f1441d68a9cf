import os

from langchain_core.messages import HumanMessage, ToolMessage
from pydantic import BaseModel

from check import *

LIBRARY = os.environ["LIBRARY"]
if LIBRARY == "openai":
    from langchain_openai import ChatOpenAI

    model = ChatOpenAI(model=MODEL, api_key=API_KEY, base_url=f"{BASE_URL}/v1")
elif LIBRARY == "anthropic":
    from langchain_anthropic import ChatAnthropic

    model = ChatAnthropic(model=MODEL, api_key=API_KEY, base_url=BASE_URL, max_tokens=4000)
else:
    from langchain_google_genai import ChatGoogleGenerativeAI

    model = ChatGoogleGenerativeAI(model=MODEL, google_api_key=API_KEY, base_url=BASE_URL)


class Place(BaseModel):
    """A place."""

    city: str


expect("turn", model.invoke(SAY).text, "lighthouse")
expect("stream", "".join(chunk.text for chunk in model.stream(SAY)), "lighthouse")
with_tools = model.bind_tools([look])
asked = HumanMessage(CALL)
called = with_tools.invoke([asked])
call = called.tool_calls[0]
result = ToolMessage(look(**call["args"]), tool_call_id=call["id"])
expect("tools", with_tools.invoke([asked, called, result]).text, "rain in Oslo")
expect("structured", type(model.with_structured_output(Place).invoke("Name a city.")), "Place")
picture = {"type": "image_url", "image_url": {"url": PICTURE}}
expect("image", model.invoke([HumanMessage([{"type": "text", "text": SAY}, picture])]).text, "light")
report()
