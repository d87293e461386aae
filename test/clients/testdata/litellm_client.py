"""LiteLLM against a hub."""
import os
import litellm

at = dict(model="openai/helper", api_base=os.environ["OPENAI_BASE_URL"], api_key=os.environ["OPENAI_API_KEY"], num_retries=0)
answer = litellm.completion(messages=[{"role": "user", "content": "/usage 3 2\n/say Hello."}], **at)
assert answer.choices[0].message.content == "Hello." and answer.usage.completion_tokens == 2, answer
text = ""
for chunk in litellm.completion(messages=[{"role": "user", "content": "/say In pieces."}], stream=True, **at):
    text += chunk.choices[0].delta.content or ""
assert text == "In pieces.", text
tools = [{"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}]
messages = [{"role": "user", "content": '/tool weather {"city":"Bern"}\n/result'}]
asked = litellm.completion(messages=messages, tools=tools, **at).choices[0]
assert asked.finish_reason == "tool_calls", asked
call = asked.message.tool_calls[0]
messages += [asked.message.model_dump(), {"role": "tool", "tool_call_id": call.id, "name": "weather", "content": "rain"}]
assert "rain" in litellm.completion(messages=messages, tools=tools, **at).choices[0].message.content
try:
    litellm.completion(messages=[{"role": "user", "content": "hi"}], **{**at, "model": "openai/nobody"})
    raise SystemExit("an unknown agent was not refused")
except litellm.exceptions.NotFoundError:
    pass
print("passed")
