# SPDX-License-Identifier: Apache-2.0
"""A model on the loopback that follows a script. It speaks the APIs of the three companies whose
agents the terminal sessions run: Anthropic's Messages, OpenAI's Responses and Google's Gemini, each
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
            block = {"type": "tool_use", "id": f"toolu_{number}", "name": "mcp__msp__" + call[0],
                     "input": {}}
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

    @staticmethod
    def results(asked):
        return ["\n".join(_texts(part["output"])) for part in asked["input"]
                if part["type"] == "function_call_output"]

    @staticmethod
    def answer(number, call, text):
        item = {"type": "message", "role": "assistant", "id": f"msg_{number}",
                "content": [{"type": "output_text", "text": text}]}
        if call:
            item = {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}",
                    "namespace": "mcp__msp", "name": call[0], "arguments": json.dumps(call[1])}
        response = {"id": f"resp_{number}", "usage": {
            "input_tokens": 10, "input_tokens_details": None, "output_tokens": 10,
            "output_tokens_details": None, "total_tokens": 20}}
        return [{"type": "response.created", "response": {"id": f"resp_{number}"}},
                {"type": "response.output_item.done", "output_index": 0, "item": item},
                {"type": "response.completed", "response": response}]


class Gemini:
    """streamGenerateContent, with the name `mcp_SERVER_TOOL`."""

    PATH = re.compile(r":(stream)?[gG]enerateContent$")

    @staticmethod
    def results(asked):
        return ["\n".join(_texts(part["functionResponse"]["response"]))
                for content in asked["contents"] for part in content.get("parts", [])
                if "functionResponse" in part]

    @staticmethod
    def answer(_, call, text):
        part = {"text": text}
        if call:
            part = {"functionCall": {"name": "mcp_msp_" + call[0], "args": call[1]}}
        return [{"candidates": [{"index": 0, "finishReason": "STOP",
                                 "content": {"role": "model", "parts": [part]}}],
                 "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 10,
                                   "totalTokenCount": 20}}]


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    model = None

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = self.path.split("?")[0]
        api = next((api for api in (Anthropic, OpenAi, Gemini) if api.PATH.search(path)), None)
        if not api:
            self._send(404, "application/json", b"{}")
            return
        asked = json.loads(body)
        events = api.answer(*self.model.next_step(api, asked))
        is_stream = asked.get("stream") or path.endswith("streamGenerateContent")
        if not is_stream:
            self._send(200, "application/json", json.dumps(events[0]).encode())
            return
        lines = ["".join(([f"event: {event['type']}\n"] if "type" in event else [])
                         + [f"data: {json.dumps(event)}\n\n"]) for event in events]
        self._send(200, "text/event-stream", "".join(lines).encode())

    def do_GET(self):
        self._send(404, "application/json", b"{}")

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
    results. Use as a context manager."""

    def __init__(self, script, closing=lambda results: "Done."):
        self.script, self.closing = script, closing
        self.results = []  # the text of each call's result, as the agent sent it
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
        if not asked.get("tools"):
            return 0, None, "a title"
        results = api.results(asked)
        self.asked = json.dumps(asked)
        if len(results) >= len(self.results):  # last: others wait for it
            self.results = results
        if len(results) < len(self.script):
            return len(results) + 1, self.script[len(results)], ""
        return len(results) + 1, None, self.closing(results)
