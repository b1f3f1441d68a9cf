import instructor
from openai import OpenAI
from pydantic import BaseModel

from check import *


class Place(BaseModel):
    city: str


for mode in (instructor.Mode.TOOLS, instructor.Mode.JSON_SCHEMA, instructor.Mode.JSON):
    client = instructor.from_openai(OpenAI(api_key=API_KEY, base_url=f"{BASE_URL}/v1"), mode=mode)
    # JSON mode has no schema: the sentence makes the simulated model answer what one would.
    prompt = 'Say exactly: {"city": "Oslo"}' if mode == instructor.Mode.JSON else "Name a city."
    messages = [{"role": "user", "content": prompt}]
    place = client.chat.completions.create(model=MODEL, response_model=Place, messages=messages)
    expect(mode.value, type(place), "Place")
client = instructor.from_openai(OpenAI(api_key=API_KEY, base_url=f"{BASE_URL}/v1"))
partial = client.chat.completions.create_partial(
    model=MODEL, response_model=Place, messages=[{"role": "user", "content": "Name a city."}]
)
expect("stream", list(partial)[-1].city is not None, "True")
picture = [{"type": "text", "text": "Name a city."}, {"type": "image_url", "image_url": {"url": PICTURE}}]
place = client.chat.completions.create(
    model=MODEL, response_model=Place, messages=[{"role": "user", "content": picture}]
)
expect("image", type(place), "Place")
report()
