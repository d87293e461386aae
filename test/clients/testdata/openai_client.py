"""The openai library against a hub: what its users do first."""
import json
import openai

client = openai.OpenAI(max_retries=0)  # OPENAI_BASE_URL and OPENAI_API_KEY
assert "helper" in [m.id for m in client.models.list()]

# Plain, and going on with the whole history.
messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "/usage 3 2\n/say Hello."}]
first = client.chat.completions.create(model="helper", messages=messages)
assert first.choices[0].message.content == "Hello.", first
assert (first.usage.prompt_tokens, first.usage.completion_tokens) == (3, 2), first.usage
messages += [first.choices[0].message.model_dump(exclude_none=True), {"role": "user", "content": "/say Again."}]
assert client.chat.completions.create(model="helper", messages=messages).choices[0].message.content == "Again."

# In pieces, with a tool of our own.
tools = [{"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}}]
messages = [{"role": "user", "content": '/say Looking.\n/tool weather {"city":"Bern"}\n/result'}]
text, calls = "", {}
for chunk in client.chat.completions.create(model="helper", messages=messages, tools=tools, stream=True, stream_options={"include_usage": True}):
    for choice in chunk.choices:
        text += choice.delta.content or ""
        for call in choice.delta.tool_calls or []:
            calls[call.index] = call
    usage = chunk.usage
assert text == "Looking." and usage.total_tokens > 0, (text, usage)
assert calls[0].function.name == "weather" and json.loads(calls[0].function.arguments) == {"city": "Bern"}, calls
messages += [
    {"role": "assistant", "content": text, "tool_calls": [{"id": calls[0].id, "type": "function", "function": {"name": "weather", "arguments": calls[0].function.arguments}}]},
    {"role": "tool", "tool_call_id": calls[0].id, "content": "rain"},
]
assert "rain" in client.chat.completions.create(model="helper", messages=messages, tools=tools).choices[0].message.content

# Responses: followed by id, and in events.
one = client.responses.create(model="helper", input="/say One.")
assert one.output_text == "One." and one.status == "completed", one
two = client.responses.create(model="helper", input="/context", previous_response_id=one.id)
assert "One." in two.output_text
with client.responses.stream(model="helper", input="/say In pieces.") as stream:
    kinds = [event.type for event in stream]
    assert stream.get_final_response().output_text == "In pieces."
assert "response.output_text.delta" in kinds and kinds[-1] == "response.completed", kinds
call = client.responses.create(model="helper", input='/tool weather {"city":"Bern"}\n/result', tools=[{"type": "function", "name": "weather", "parameters": {"type": "object"}, "strict": False}])
assert call.output[-1].type == "function_call", call
done = client.responses.create(model="helper", previous_response_id=call.id, input=[{"type": "function_call_output", "call_id": call.output[-1].call_id, "output": "snow"}])
assert "snow" in done.output_text, done

# Refusals are the library's own exceptions.
for wrong, kind in ((dict(model="nobody"), openai.NotFoundError), (dict(model="helper", n=2), openai.BadRequestError)):
    try:
        client.chat.completions.create(messages=[{"role": "user", "content": "hi"}], **wrong)
        raise SystemExit("it was not refused: %r" % wrong)
    except kind as e:
        assert e.code, e.body
try:
    openai.OpenAI(api_key="wrong", max_retries=0).models.list()
    raise SystemExit("a wrong key was let in")
except openai.AuthenticationError as e:
    assert e.code == "invalid_api_key", e.body
print("passed")
