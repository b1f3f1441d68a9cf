"""Text in three formats, an upload, a video and its task, with the generated client."""

import io
import os
import sys
import time

from genway_client import AuthenticatedClient
from genway_client.api.files import upload_file
from genway_client.api.media_tasks import create_video_task, get_task
from genway_client.api.text import create_chat_completion, create_message, create_response
from genway_client.models import ChatCompletionRequest, CommonError, MessagesError, MessagesRequest, ResponsesRequest
from genway_client.models import CreateVideoTaskVidtwo11, SvcError, UploadForm
from genway_client.types import File


def expect(answer):
    if answer is None or isinstance(answer, (CommonError, SvcError, MessagesError)):
        sys.exit(f"refused: {answer}")
    return answer


client = AuthenticatedClient(base_url=os.environ["BASE_URL"], token=os.environ["API_KEY"])
hello = {"model": "textg-6-sol", "messages": [{"role": "user", "content": "Say exactly: hello"}]}

chat = expect(create_chat_completion.sync(client=client, body=ChatCompletionRequest.from_dict(hello)))
body = MessagesRequest.from_dict({**hello, "max_tokens": 50})
message = expect(create_message.sync(client=client, body=body, msgfmt_version="2023-06-01"))
body = ResponsesRequest.from_dict({"model": "textg-6-sol", "input": "Say exactly: hello"})
response = expect(create_response.sync(client=client, body=body))
said = [
    chat.choices[0].message.content,
    message.content[-1].text,
    response.to_dict()["output"][-1]["content"][0]["text"],
]
if said != ["hello"] * 3:
    sys.exit(f"expected hello three times: {said}")

with open(os.environ["PICTURE"], "rb") as picture:
    content = File(payload=io.BytesIO(picture.read()), file_name="picture.png", mime_type="image/png")
file = expect(upload_file.sync(client=client, body=UploadForm(file=content))).data
body = CreateVideoTaskVidtwo11(model="vidtwo-1.1", prompt="The camera circles it", images=[file.url])
task = expect(create_video_task.sync(client=client, body=body)).data
while task.status not in ("succeeded", "failed"):
    time.sleep(0.2)
    task = expect(get_task.sync(task.id, client=client)).data
if task.status != "succeeded":
    sys.exit(f"the task failed: {task.error_message}")
print(f"python: {task.id} {task.output.media[0].mime_type}")
