# SPDX-License-Identifier: Apache-2.0
"""A model on the loopback that follows a script. It speaks the APIs of the agents that the terminal
sessions run: Anthropic's Messages, OpenAI's Responses and Chat Completions, and Google's Gemini, each
as a stream. It is also the agents' proxy, and refuses every way out. Nothing here is a test."""
import http.server
import json
import re
import threading


def _texts(value):
    """Every text in a result, whatever an API wraps it in."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, list):
        return [text for one in value for text in _texts(one)]
    if isinstance(value, dict):
        return [text for key, one in value.items() if key not in ("type", "id", "name")
                for text in _texts(one)]
    return []


class Anthropic:
    """Messages, with the name `mcp__SERVER__TOOL`."""

    PATH = re.compile(r"/v1/messages$")
    KEY = "x-api-key"

    @staticmethod
    def name(server, tool):
        return {"name": f"mcp__{server}__{tool}" if server else tool}

    @staticmethod
    def results(asked):
        return ["\n".join(_texts(part.get("content"))) for message in asked["messages"]
                if isinstance(message["content"], list) for part in message["content"]
                if part["type"] == "tool_result"]

    @staticmethod
    def answer(number, call, text):
        block = {"type": "text", "text": ""}
        delta = {"type": "text_delta", "text": text}
        if call:
            block = {"type": "tool_use", "id": f"toolu_{number}", **call[0], "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(call[1])}
        usage = {"input_tokens": 10, "output_tokens": 10}
        return [
            {"type": "message_start", "message": {
                "id": f"msg_{number}", "type": "message", "role": "assistant", "content": [],
                "model": "scripted", "stop_reason": None, "stop_sequence": None, "usage": usage}},
            {"type": "content_block_start", "index": 0, "content_block": block},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "usage": {"output_tokens": 10}, "delta": {
                "stop_reason": "tool_use" if call else "end_turn", "stop_sequence": None}},
            {"type": "message_stop"}]


class OpenAi:
    """Responses, with the tool in a namespace `mcp__SERVER`."""

    PATH = re.compile(r"/responses$")
    KEY = "authorization"

    @staticmethod
    def name(server, tool):
        return {"namespace": f"mcp__{server}", "name": tool} if server else {"name": tool}

    @staticmethod
    def results(asked):
        return ["\n".join(_texts(part["output"])) for part in asked["input"]
                if part.get("type") in ("function_call_output", "custom_tool_call_output")]

    @staticmethod
    def answer(number, call, text):
        item = {"type": "message", "role": "assistant", "id": f"msg_{number}",
                "content": [{"type": "output_text", "text": text, "annotations": []}]}
        if call and isinstance(call[1], str):  # a tool that takes a text, such as a program
            item = {"type": "custom_tool_call", "id": f"ctc_{number}", "call_id": f"call_{number}",
                    **call[0], "input": call[1]}
        elif call:
            item = {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}",
                    "status": "completed", **call[0], "arguments": json.dumps(call[1])}
        place = {"output_index": 0, "item_id": item["id"]}
        if call:
            kind = "custom_tool_call_input" if "input" in item else "function_call_arguments"
            delta = {"type": f"response.{kind}.delta", **place,
                     "delta": item.get("input") or item.get("arguments")}
            empty = {**item, "input" if "input" in item else "arguments": ""}
        else:
            delta = {"type": "response.output_text.delta", **place, "content_index": 0,
                     "delta": text}
            empty = {**item, "content": []}
        response = {"id": f"resp_{number}", "object": "response", "created_at": 1,
                    "model": "scripted"}
        usage = {"input_tokens": 10, "input_tokens_details": None, "output_tokens": 10,
                 "output_tokens_details": None, "total_tokens": 20}
        return [{"type": "response.created", "response": response},
                {"type": "response.output_item.added", "output_index": 0, "item": empty}, delta,
                {"type": "response.output_item.done", "output_index": 0, "item": item},
                {"type": "response.completed", "response": {**response, "usage": usage}}]


class OpenAiChat:
    """Chat Completions, which agents also speak to local models."""

    PATH = re.compile(r"/chat/completions$")
    KEY = "authorization"

    @staticmethod
    def name(server, tool):
        return {"name": f"mcp__{server}__{tool}" if server else tool}

    @staticmethod
    def results(asked):
        return ["\n".join(_texts(message["content"])) for message in asked["messages"]
                if message["role"] == "tool"]

    @staticmethod
    def answer(number, call, text):
        delta = {"role": "assistant", "content": text}
        if call:
            delta = {"role": "assistant", "tool_calls": [{
                "index": 0, "id": f"call_{number}", "type": "function",
                "function": {**call[0], "arguments": json.dumps(call[1])}}]}
        common = {"id": f"chat_{number}", "object": "chat.completion.chunk", "created": 1,
                  "model": "scripted"}
        usage = {"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20}
        reason = "tool_calls" if call else "stop"
        return [{**common, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
                {**common, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]},
                {**common, "choices": [], "usage": usage}]

    @classmethod
    def whole(cls, number, call, text):
        """The answer to a request that wants no stream."""
        first, second, last = cls.answer(number, call, text)
        (choice,) = second["choices"]
        return {**last, "object": "chat.completion",
                "choices": [{**choice, "message": first["choices"][0]["delta"]}]}


class Gemini:
    """streamGenerateContent, with the name `mcp_SERVER_TOOL`."""

    PATH = re.compile(r":(stream)?[gG]enerateContent$")
    KEY = "x-goog-api-key"

    @staticmethod
    def name(server, tool):
        return {"name": f"mcp_{server}_{tool}" if server else tool}

    @staticmethod
    def results(asked):
        return ["\n".join(_texts(part["functionResponse"]["response"]))
                for content in asked["contents"] for part in content.get("parts", [])
                if "functionResponse" in part]

    @staticmethod
    def answer(_, call, text):
        part = {"text": text}
        if call:
            part = {"functionCall": {**call[0], "args": call[1]}}
        return [{"candidates": [{"index": 0, "finishReason": "STOP",
                                 "content": {"role": "model", "parts": [part]}}],
                 "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 10,
                                   "totalTokenCount": 20}}]


# The list of models, as OpenAI's API has it.
MODELS = {"object": "list", "data": [{"id": "scripted", "object": "model"}]}
APIS = (Anthropic, OpenAi, OpenAiChat, Gemini)


def answer_post(model, path, headers, body):
    """(status, type, body) of the answer to a request."""
    path = path.split("?")[0]
    api = next((api for api in APIS if api.PATH.search(path)), None)
    if not api:
        return 404, "application/json", b"{}"
    asked = json.loads(body)
    model.keys.add(headers.get(api.KEY))
    step = model.next_step(api, asked)
    if not asked.get("stream") and not path.endswith("streamGenerateContent"):
        whole = api.whole(*step) if api is OpenAiChat else api.answer(*step)[0]
        return 200, "application/json", json.dumps(whole).encode()
    lines = ["".join(([f"event: {event['type']}\n"] if "type" in event else [])
                     + [f"data: {json.dumps(event)}\n\n"]) for event in api.answer(*step)]
    return 200, "text/event-stream", "".join(lines).encode()


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    model = None

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self._send(*answer_post(self.model, self.path, self.headers, body))

    def do_GET(self):
        is_list = self.path.split("?")[0].endswith("/models")
        self._send(200 if is_list else 404, "application/json",
                   json.dumps(MODELS if is_list else {}).encode())

    def do_CONNECT(self):
        self.model.outside.add(self.path)
        self._send(403, "text/plain", b"no way out\n")

    do_HEAD = do_GET

    def _send(self, status, kind, body):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
        self.close_connection = True

    def log_message(self, *_):
        pass


class Model:
    """The server. `script`: (tool, arguments) each; `closing`: the text after them, made of the
    results; `server`: the MCP server of the tools, None: they are the agent's own. Use as a context
    manager."""

    def __init__(self, script, closing=lambda results: "Done.", server="msp"):
        self.script, self.closing, self.mcp_server = script, closing, server
        self.results = []  # the text of each call's result, as the agent sent it
        self.keys = set()  # what the header of the key had
        self.outside = set()  # hosts that the agent wanted to reach
        self.asked = ""  # the last request, as JSON
        handler = type("Handler", (_Handler,), {"model": self})
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.thread.join(5)
        self.server.server_close()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    def next_step(self, api, asked):
        """(number, call or None, text) of the answer. Agents also ask for titles, without tools."""
        more = asked.get("input") if isinstance(asked.get("input"), list) else []
        if not asked.get("tools") and not any(part.get("tools") for part in more):
            return 0, None, "a title"
        results = api.results(asked)
        self.asked = json.dumps(asked)
        if len(results) >= len(self.results):  # last: others wait for it
            self.results = results
        if len(results) < len(self.script):
            tool, arguments = self.script[len(results)]
            return len(results) + 1, (api.name(self.mcp_server, tool), arguments), ""
        return len(results) + 1, None, self.closing(results)
