"""Uploads a picture, makes a video of it and reads the task, with the generated client."""

import io
import os
import sys
import time

from genway_client import AuthenticatedClient
from genway_client.api.files import upload_file
from genway_client.api.media_tasks import create_video_task, get_task
from genway_client.models.create_video_task_vidtwo_11 import CreateVideoTaskVidtwo11
from genway_client.models.common_error import CommonError
from genway_client.models.upload_file_body import UploadFileBody
from genway_client.types import File


def expect(answer):
    if answer is None or isinstance(answer, CommonError):
        sys.exit(f"refused: {answer}")
    return answer.data


client = AuthenticatedClient(base_url=os.environ["BASE_URL"], token=os.environ["API_KEY"])
with open(os.environ["PICTURE"], "rb") as picture:
    content = File(payload=io.BytesIO(picture.read()), file_name="picture.png", mime_type="image/png")
file = expect(upload_file.sync(client=client, body=UploadFileBody(file=content)))
body = CreateVideoTaskVidtwo11(model="vidtwo-1.1", prompt="The camera circles it", images=[file.url])
task = expect(create_video_task.sync(client=client, body=body))
while task.status not in ("succeeded", "failed"):
    time.sleep(0.2)
    task = expect(get_task.sync(task.id, client=client))
if task.status != "succeeded":
    sys.exit(f"the task failed: {task.error_message}")
print(f"python: {task.id} {task.output.media[0].mime_type}")
