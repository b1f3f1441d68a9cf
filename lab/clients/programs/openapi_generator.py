"""Text in three formats, an upload, a video and its task, with OpenAPI Generator's client."""

import os
import sys
import time

from genway_client import ApiClient, Configuration, FilesApi, MediaTasksApi, TextApi
from genway_client.models import ChatCompletionRequest, CreateVideoTask, CreateVideoTaskVidtwo11
from genway_client.models import MessagesRequest, ResponsesRequest

configuration = Configuration(host=os.environ["BASE_URL"], access_token=os.environ["API_KEY"])
hello = {"model": "textg-6-sol", "messages": [{"role": "user", "content": "Say exactly: hello"}]}

with ApiClient(configuration) as client:
    text, tasks = TextApi(client), MediaTasksApi(client)
    chat = text.create_chat_completion(ChatCompletionRequest.from_dict(hello))
    message = text.create_message("2023-06-01", MessagesRequest.from_dict({**hello, "max_tokens": 50}))
    body = ResponsesRequest.from_dict({"model": "textg-6-sol", "input": "Say exactly: hello"})
    response = text.create_response(body)
    said = [
        chat.choices[0].message.content,
        message.content[-1].actual_instance.text,
        response.to_dict()["output"][-1]["content"][0]["text"],
    ]
    if said != ["hello"] * 3:
        sys.exit(f"expected hello three times: {said}")

    with open(os.environ["PICTURE"], "rb") as picture:
        file = FilesApi(client).upload_file(("picture.png", picture.read())).data
    video = CreateVideoTaskVidtwo11(model="vidtwo-1.1", prompt="The camera circles it", images=[file.url])
    task = tasks.create_video_task(CreateVideoTask(video)).data
    while task.status not in ("succeeded", "failed"):
        time.sleep(0.2)
        task = tasks.get_task(task.id).data
    if task.status != "succeeded":
        sys.exit(f"the task failed: {task.error_message}")
    print(f"python: {task.id} {task.output.media[0].mime_type}")
