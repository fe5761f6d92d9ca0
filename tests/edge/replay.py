# SPDX-License-Identifier: Apache-2.0
"""Plays recorded cases to a real `msp serve` and judges the answers: first by what each case wants,
then by the recording. Nothing here is a test.

A case, one line of cases.jsonl:
  name   family/what
  group  the revision that is negotiated before it; "" for none
  steps  one after the other, each with
    in     what is written, piece by piece: text (bytes outside UTF-8 as surrogates, as Python's
           surrogateescape has them), or [text, how often]; $NAME$ is what an earlier step kept
    want   the answers (rules.py); `slow`: there is work to be waited for, in any order; `free`:
           how it is divided among them is chance, so it is not compared with the recording
    notes  the notifications, in order: "note" is the method, "says" a part of it
    keep   NAME -> pattern: the first group of its first match in the answers
    got    the recording: each answer's text, without its frame and what differs between two runs;
           [N] for a long one that was there before, the N-th long one of the file
  ends   afterwards `last` is written and the input closed: the server must end with 0 and, but
         for what `may_say` is for, say nothing more
  alone  it needs a server of its own
  quiet  it needs one where nothing has run: it would be listed"""
import json
import os
import re
import select
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))
import support  # noqa: E402  (its folder is known from here on)

CASES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "cases.jsonl")
ANSWER_S = 30
SHARED_FROM = 90  # characters
FRAME = b'{"jsonrpc":"2.0","id":'
SERVER_INFO = "io.modelcontextprotocol/serverInfo"

# What differs between two runs or two machines and is no part of the protocol.
VOLATILE = tuple((re.compile(pattern), text) for pattern, text in (
    (r"\b\d+(\.\d+)? s\b", "<time> s"),
    (r',\\?"(?:cpu_ms|peak_bytes)\\?":\d+', ""),  # absent if not known
    (r'\b(wall_ms|landlock_abi|age_ms|left_ms|size)(\\?"):\d+', r"\1\2:<n>"),
    (r',\\?"(?:posture|timings_us)\\?":\{[^{}]*\}', ""),
    (r"Landlock ABI \d+", "Landlock ABI <n>"),
    (r'("limits":)"\w+"', r'\1"<limits>"'),
    (r" Limits are enforced by cgroup v2[^.]*\.| The operator has accepted fallback limits:[^.]*\.",
     " <limits>."),
    (r"((?:Languages of run_code|Installed|Profiles) (?:here|are): )[^.\"]*", r"\1<names>"),
    (r'("language":\{"type":"string","enum":)\[[^\]]*\]', r"\1<names>"),
    (r"(`language` is .{0,120}, but must be one of: )[^\"]*", r"\1<names>"),
    (r'("values":\[")python[^\]]*(\],"total":)\d+', r'\1<names>"\2<n>'),
    (r'("uri":"policy://[\w%]+",.*"text":)"([^"\\]|\\.)*"', r'\1"<policy>"'),
    (r'\{"name":"msp","title":"Model Sandbox Protocol","version":"[^"]+"\}', "<msp>"),
    (r"\b[0-9a-hjkmnp-tv-z]{26}\b", "<sandbox>"),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "<instant>"),
    (r'("requestState":)"[^"]*"', r'\1"<state>"'),
    (r'("ttlMs":)3[56]\d{5}\b', r"\1<n>"),  # a task's, which is an hour from its end
))

RUN = re.compile(r"(.)\1{199,}")


def bytes_of(piece):
    text, times = piece if isinstance(piece, list) else (piece, 1)
    return text.encode("utf-8", "surrogateescape") * times


class Session:
    """A server and the client's end of it."""

    def __init__(self, version="", options=()):
        self.process = subprocess.Popen([support.MSP, "serve", *support.limits(), *options],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, bufsize=0)
        os.set_blocking(self.process.stdin.fileno(), False)
        self.version, self.buffer, self.controls = version, b"", 0
        self.greet()

    def greet(self):
        """(Again) the state that the group's cases begin with."""
        if not self.version:
            return
        self.write(b'{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{'
                   b'"protocolVersion":"%s","capabilities":{},"clientInfo":{"name":"edge",'
                   b'"version":"1"}}}\n' % self.version.encode())
        if not self.line().startswith(FRAME + b'"hello","result":'):
            raise AssertionError("no handshake")
        self.write(b'{"jsonrpc":"2.0","id":"hello","method":"logging/setLevel","params":{'
                   b'"level":"info"}}\n')
        self.line()  # an error where there is no log

    def write(self, data):
        """All of it; what the server answers meanwhile is kept, so that neither waits for ever."""
        pipe = self.process.stdin.fileno()
        while data:
            _, ready, _ = select.select([], [pipe], [], 0.05)
            if ready:
                data = data[os.write(pipe, data[:65536]):]
            else:
                self.read(0)

    def read(self, timeout):
        """Whatever there is within that time; False: nothing, None: the end."""
        out = self.process.stdout.fileno()
        if not select.select([out], [], [], timeout)[0]:
            return False
        part = os.read(out, 1 << 20)
        self.buffer += part
        return True if part else None

    def line(self, timeout=ANSWER_S):
        end = time.monotonic() + timeout
        while b"\n" not in self.buffer:
            state = self.read(max(0, end - time.monotonic()))
            if state is None:
                raise AssertionError(f"the server is gone: {self.process.stderr.read()[-2000:]!r}")
            if not state and time.monotonic() > end:
                raise AssertionError(f"no answer within {timeout} s")
        line, _, self.buffer = self.buffer.partition(b"\n")
        return line

    def until_control(self):
        """The lines before the answer to a request of our own."""
        self.controls += 1
        name = b'"control-%d"' % self.controls
        self.write(FRAME + name + b',"method":"ping"}\n')
        lines = []
        while True:
            line = self.line()
            if line.startswith(FRAME + name):
                if line != FRAME + name + b',"result":{}}':
                    raise AssertionError(f"a control request got {line!r}")
                return lines
            lines.append(line)

    def close(self):
        """(exit code, what it still said, its standard error)."""
        self.process.stdin.close()
        rest = self.buffer + self.process.stdout.read()
        errors = self.process.stderr.read()
        code = self.process.wait(ANSWER_S)
        self.process.stdout.close()
        self.process.stderr.close()
        return code, rest, errors


def is_note(line):
    """A notification: what is no answer has a method and no id."""
    return not line.startswith((FRAME, b"[")) and b'"method":"notifications/' in line[:80]


def play_step(session, step, kept):
    """The lines that came."""
    for piece in step["in"]:
        data = bytes_of(piece)
        for name, value in kept.items():
            data = data.replace(b"$%s$" % name.encode(), value)
        session.write(data)
    lines, missing = [], len(step["want"]) if step.get("slow") else 0
    while missing > 0:
        lines.append(session.line())
        missing -= not is_note(lines[-1])
    lines += session.until_control()
    for name, pattern in step.get("keep", {}).items():
        found = re.search(pattern.encode(), b"\n".join(lines))
        if not found:
            raise AssertionError(f"nothing matches {pattern}: {lines}")
        kept[name] = found.group(1)
    return lines


def play(session, case):
    """The lines of each step."""
    kept = {}
    return [play_step(session, step, kept) for step in case["steps"]]


def unique(pairs):
    if len({key for key, _ in pairs}) != len(pairs):
        raise ValueError("a key twice")
    return dict(pairs)


def check_result(value, want):
    """What a result must be."""
    problems = []
    if want.get("era") == "modern":
        if value.get("resultType") not in ("complete", "input_required", "task"):
            problems.append("no resultType")
        if value.get("_meta", {}).get(SERVER_INFO, {}).get("name") != "msp":
            problems.append("no server info")
    elif want.get("era") == "legacy" and ({"resultType", "ttlMs", "cacheScope"} & set(value) or
                                          SERVER_INFO in value.get("_meta", {})):
        problems.append("members of the other era")
    if "failed" in want and value.get("isError") is not want["failed"]:
        problems.append(f"isError is {value.get('isError')}")
    if "equals" in want and value != want["equals"]:
        problems.append(f"is not {want['equals']}")
    return problems


def check_object(text, want):
    """Problems of one answer's text."""
    try:
        answer = json.loads(text, object_pairs_hook=unique)
    except ValueError as problem:
        return [f"no JSON: {problem}"]
    problems = []
    if not text.startswith('{"jsonrpc":"2.0","id":' + want["id"] + ","):
        problems.append(f"the id is not {want['id'][:100]}")
    kind = "error" if "code" in want else "result"
    if set(answer) != {"jsonrpc", "id", kind}:
        return [*problems, f"is no {kind}"]
    if kind == "error":
        problem = answer["error"]
        if problem.get("code") != want["code"] or set(problem) - {"code", "message", "data"}:
            problems.append(f"the code is not {want['code']}")
        if not isinstance(problem.get("message"), str) or not problem["message"]:
            problems.append("no message")
    else:
        problems += check_result(answer["result"], want)
    if want.get("says", "") not in text:
        problems.append(f"does not say {want['says']!r}")
    return problems


def check_batch(text, wants):
    try:
        entries = json.loads(text)
    except ValueError as problem:
        return [f"no JSON: {problem}"]
    if not isinstance(entries, list) or len(entries) != len(wants):
        return [f"is no batch of {len(wants)}"]
    pieces = [json.dumps(entry, separators=(",", ":"), ensure_ascii=False) for entry in entries]
    waiting = list(pieces)
    problems = []
    for want in wants:
        # its own text is not told apart, so an id is compared by what it means
        same = dict(want, id=json.dumps(json.loads(want["id"]), ensure_ascii=False))
        found = next((piece for piece in waiting if not check_object(piece, same)), None)
        if found is None:
            problems.append(f"nothing in it is {want}")
        else:
            waiting.remove(found)
            if f'"id":{want["id"]}' not in text:
                problems.append(f"the id is not {want['id']}")
    return problems


def check_answer(text, want):
    return check_batch(text, want["batch"]) if "batch" in want else check_object(text, want)


def check_notes(notes, wants):
    """Progress rises for each token, and nothing else is said but what is wanted."""
    last, problems, wants = {}, [], list(wants)
    for note in notes:
        try:
            message = json.loads(note)
        except ValueError:
            problems.append(f"no JSON: {note}")
            continue
        if message["method"] == "notifications/progress":
            token = json.dumps(message["params"]["progressToken"])
            if message["params"]["progress"] <= last.get(token, 0):
                problems.append("progress does not rise")
            last[token] = message["params"]["progress"]
        elif not wants or message["method"] != wants[0]["note"] or wants.pop(0)["says"] not in note:
            problems.append(f"nobody wants {note}")
    return problems + [f"is not said: {want}" for want in wants]


def match(texts, step):
    """Pair the answers with the wants: in order, or by the id where the order is open."""
    wants = list(step["want"])
    if not step.get("slow"):
        return list(zip(texts, wants))
    pairs = []
    for text in texts:
        best = next((want for want in wants if not check_answer(text, want)),
                    wants[0] if wants else None)
        if best is not None:
            wants.remove(best)
            pairs.append((text, best))
    return sorted(pairs, key=lambda pair: step["want"].index(pair[1]))


def normal(text, want):
    if "id" in want:
        text = text.replace('"jsonrpc":"2.0","id":' + want["id"] + ",", "", 1)
    for pattern, replacement in VOLATILE:
        text = pattern.sub(replacement, text)
    return RUN.sub(lambda run: f"<{len(run.group())} times {run.group(1)}>", text)


def judge_step(lines, step):
    """(problems, what there is to record): by the wants alone."""
    problems, texts, notes = [], [], []
    for line in lines:
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError:
            return [f"an answer is not UTF-8: {line[:200]!r}"], []
        (notes if is_note(line) else texts).append(text)
    if len(texts) != len(step["want"]):
        problems.append(f"{len(texts)} answers instead of {len(step['want'])}: "
                        f"{[text[:300] for text in texts]}")
    pairs = match(texts, step)
    for text, want in pairs:
        problems += [f"{problem} in {text[:600]}" for problem in check_answer(text, want)]
    problems += check_notes(notes, step.get("notes", []))
    if step.get("free"):
        return problems, []
    got = [normal(text, want) for text, want in pairs]
    got += [normal(note, {}) for note in notes if '"notifications/progress"' not in note]
    return problems, got


def judge_end(session, may_say=False):
    code, rest, errors = session.close()
    problems = [] if code == 0 else [f"ended with {code}"]
    problems += [f"said at its end {rest[:300]!r}"] if rest and not may_say else []
    return problems + ([f"complained {errors[-500:]!r}"] if errors else [])


def play_alone(case):
    """In a server of its own, to its end."""
    session = Session(case["group"])
    results = [judge_step(lines, step) for lines, step in zip(play(session, case), case["steps"])]
    if case.get("ends"):
        for piece in case["last"]:
            session.write(bytes_of(piece))
    results[-1][0].extend(judge_end(session, case.get("may_say", False)))
    return results


def changes_state(case):
    """Does what the group's other cases begin with have to be made anew?"""
    pieces = [piece for step in case["steps"] for piece in step["in"]]
    return any(word in piece for piece in pieces for word in ('"initialize"', '"logging/setLevel"')
               if isinstance(piece, str))


def play_all(cases):
    """(case, [(problems, answers) for each step]) of each, many in one server: whatever one case
    leaves behind, the next one must not see."""
    sessions, order = {}, sorted(cases, key=lambda case: case["group"])
    for case in order:
        if case.get("alone"):
            yield case, play_alone(case)
            continue
        key = (case["group"], case.get("quiet", False))
        try:
            if key not in sessions:
                sessions[key] = Session(case["group"])
            results = [judge_step(lines, step)
                       for lines, step in zip(play(sessions[key], case), case["steps"])]
        except (AssertionError, OSError) as problem:
            sessions.pop(key).process.kill()
            results = [([str(problem)], []) for _ in case["steps"]]
        yield case, results
        if key in sessions and any(problems for problems, _ in results):
            sessions.pop(key).process.kill()  # what it leaves behind is not the next one's fault
        if key in sessions and changes_state(case):
            if case["group"]:
                sessions[key].greet()
            else:
                results[-1][0].extend(judge_end(sessions.pop(key)))
    for key, session in sessions.items():
        problems = judge_end(session)
        if problems:
            raise AssertionError(f"the server of {key}: {problems}")


def show_input(case):
    """What is written, shortened."""
    def cut(piece):
        text, times = piece if isinstance(piece, list) else (piece, 1)
        return (repr(text) if len(text) < 600 else repr(text[:300]) + "...") + (
            f" * {times}" if times > 1 else "")
    return " | ".join(cut(piece) for step in case["steps"] for piece in step["in"])[:1500]


def show(case):
    return "\n".join([f"{case['name']}: {show_input(case)}",
                      *(f"    {text[:400]}" for step in case["steps"] for text in step.get("got",
                                                                                           []))])


# Of the file alone: what nearly all cases have is left out or written short.
GROUP = "2025-11-25"
META = ('{"io.modelcontextprotocol/protocolVersion":"2026-07-28",'
        '"io.modelcontextprotocol/clientCapabilities":%s,'
        '"io.modelcontextprotocol/clientInfo":{"name":"edge","version":"1"}}')
SHORT = {"@J@": '{"jsonrpc":"2.0",', "@META@": META % "{}",
         "@POLLS@": META % '{"extensions":{"io.modelcontextprotocol/tasks":{}}}'}


def shorten(pieces, back=False):
    for short, text in SHORT.items():
        old, new = (short, text) if back else (text, short)
        pieces = [piece.replace(old, new) if isinstance(piece, str) else piece for piece in pieces]
    return pieces


def save(cases, path=CASES):
    known = {}
    with open(path, "w", encoding="ascii") as file:
        for case in cases:
            steps = []
            for step in case["steps"]:
                got = []
                for text in step["got"]:
                    is_known = text in known
                    if len(text) > SHARED_FROM:
                        known.setdefault(text, len(known))
                    got.append([known[text]] if is_known else text)
                steps.append(dict(step, **{"in": shorten(step["in"])}, got=got))
            shown = dict(case, steps=steps)
            if case["group"] == GROUP:
                del shown["group"]
            file.write(json.dumps(shown, separators=(",", ":")) + "\n")


def load(path=CASES):
    known, cases = [], []
    with open(path, encoding="ascii") as file:
        for line in file:
            cases.append(dict({"group": GROUP}, **json.loads(line)))
            for step in cases[-1]["steps"]:
                step["in"] = shorten(step["in"], back=True)
                step["got"] = [known[text[0]] if isinstance(text, list) else text
                               for text in step["got"]]
                known += [text for text in dict.fromkeys(step["got"])
                          if len(text) > SHARED_FROM and text not in known]
    return cases
