"""What every program needs: its settings, and the report of what worked."""

import os

BASE_URL = os.environ["BASE_URL"]
API_URL = os.environ["API_URL"]
API_KEY = os.environ["API_KEY"]
MODEL = os.environ["MODEL"]
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkZPhfDwAEAAIBdDoGOAAAAABJRU5ErkJggg=="
PICTURE = f"data:image/png;base64,{PIXEL}"
SAY = "Say exactly: lighthouse"
CALL = 'Call look with {"city": "Oslo"}'
SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
worked = []


def look(city: str) -> str:
    """Looks at a city."""
    return f"rain in {city}"


def expect(feature, text, part):
    """Reports a feature as working if its text has a part."""
    assert part in str(text), f"{feature}: {part!r} is not in {text!r}"
    worked.append(feature)


def report():
    print(", ".join(worked))
