# SPDX-License-Identifier: Apache-2.0
"""Edge cases of what a server has beyond tools: resources, prompts, completion, the log's level,
listening, and of executions that outlive their call. A server without one of these gets no cases
of it."""
import json
import re
import zlib

from families import META_TEXT, VALUES, dump, message, modern
from methods import call_text, cancel, done, failed
from rules import TASKS, error, result

NO_SANDBOX = "0" * 26
HANDLE = r'"handle":"([0-9a-z]{26}-[0-9]+)"'
SANDBOX = r'"handle":"([0-9a-z]{26})-'


def either(book, name, method, params, **more):
    """A request in an era that has it, chance says in which; `params`: members as raw text."""
    eras = book.surface.methods.get(method, ())
    if len(eras) > 1:
        eras = (eras[zlib.crc32(name.encode("utf-8")) % len(eras)],)
    if "legacy" in eras:
        book.add(f"{name}/legacy", message('"f"', f'"{method}"', "{" + params + "}") + "\n", **more)
    if "modern" in eras:
        rest = "," + params if params else ""
        book.add(f"{name}/modern", modern('"f"', f'"{method}"', rest) + "\n", **more)


# --- resources ----------------------------------------------------------------------------------

URIS = (
    "policy://default", "policy://strict", "policy://%64efault", "policy://%64%65fault",
    "policy://Default", "POLICY://default", "policy://", "policy:/default", "policy:default",
    "policy:///default", "policy://default/", "policy://default?x", "policy://default#x",
    " policy://default", "policy://default ", "policy://no_such", "policy://%", "policy://%6",
    "policy://%zz", "policy://%00", "policy://default%00", "policy://%ff", "policy://../default",
    "policy://default/../strict", "policy://user@default", "policy://default:1", "policy://\\u0000",
    "policy://\\ud800", "policy://\u00e9", "policy://%C3%A9", "policy://*", "policy://{profile}",
    "policy://%25s", "policy://" + "d" * 300, "policy://" + "%64" * 300, "", "x", "/etc/passwd",
    "file:/etc/passwd", "https://example.org/", "sandbox://", "sandbox://x", "sandbox://x/log/1",
    f"sandbox://{NO_SANDBOX}/log/1", f"sandbox://{NO_SANDBOX}/log/0", f"sandbox://{NO_SANDBOX}",
    f"sandbox://{NO_SANDBOX}/log/1/stdout/0", f"sandbox://{NO_SANDBOX}/log/99999999999999999999",
    f"sandbox://{NO_SANDBOX}/diff", "sandbox://x/diff", f"sandbox://{NO_SANDBOX}/diff/",
    f"sandbox://{NO_SANDBOX}/log/-1", f"sandbox://{NO_SANDBOX}/files/etc/passwd", "\\n", "\\u202e",
    "javascript:alert(1)", "data:,x", "test://static-text", "\U0001f600", "u" * 20000,
)


def add_resources(book):
    for method in ("resources/read", "resources/subscribe", "resources/unsubscribe"):
        for uri in URIS:
            # whose changes and files they are is the supervisor's to say
            is_asked = method == "resources/read" and re.search("/(diff|files/.*)$", uri)
            either(book, f"{method}/{uri[:40]}", method, f'"uri":"{uri}"',
                   **({"slow": True} if is_asked else {}))
        for raw in VALUES:
            either(book, f"{method}/uri {raw}", method, f'"uri":{raw}')
        either(book, f"{method}/no uri", method, "")
    if "resources/subscribe" in book.surface.methods:
        line = message("1", '"resources/subscribe"', '{"uri":"policy://default"}') + "\n"
        book.add("resources/subscribe/twice", line + line)
        book.add("resources/subscribe/and back twice", line + 2 * line.replace("/sub", "/unsub"))
        book.add("resources/subscribe/300 times", line * 300)


# --- prompts ------------------------------------------------------------------------------------

def add_prompts(book):
    for raw in (*VALUES, '"no_such"', '"\\ud800"', '"\\u0000"', '"' + "p" * 3000 + '"', '"%s"'):
        either(book, f"prompts/get/name {raw[:30]}", "prompts/get", f'"name":{raw}')
    either(book, "prompts/get/no name", "prompts/get", '"arguments":{}')
    for name, arguments in book.surface.prompts.items():
        fine = {key: '"x"' for key in arguments}
        head = f'"name":"{name}","arguments":'

        def get(label, values, head=head, name=name):
            either(book, f"prompts/get/{name}/{label}", "prompts/get", head + "{" + ",".join(
                f'"{key}":{value}' for key, value in values.items()) + "}")
        get("all", fine)
        get("no arguments", {})
        get("one more", dict(fine, no_such='"x"'))
        get("an empty name", dict(fine, **{"": '"x"'}))
        for raw in VALUES:
            either(book, f"prompts/get/{name}/arguments {raw}", "prompts/get", head + raw)
        for key in arguments:
            get(f"{key} missing", {other: fine[other] for other in fine if other != key})
            for raw in (*VALUES[:8], '"\\ud800"', '"\\u0000"', '"```\\n"', '"\U0001f600"',
                        '"' + "v" * 65536 + '"', '"' + "v" * 65537 + '"'):
                get(f"{key} {raw[:30]}" + (f" of {len(raw)}" if len(raw) > 30 else ""),
                    dict(fine, **{key: raw}))


# --- completion ---------------------------------------------------------------------------------

def add_completion(book):
    good = '"argument":{"name":"language","value":"py"}'
    for raw in (*VALUES, '{"type":"ref/prompt"}', '{"type":"ref/no_such","name":"x"}', '{"type":7}',
                '{"type":"ref/prompt","name":7}', '{"type":"ref/prompt","name":"no_such"}',
                '{"type":"ref/resource"}', '{"type":"ref/resource","uri":7}', '{"name":"x"}',
                '{"type":"ref/resource","uri":"no_such"}', '{"type":"REF/PROMPT","name":"x"}',
                '{"type":"ref/resource","uri":"policy://default"}', '{"type":"\\ud800"}'):
        either(book, f"complete/ref {raw}", "completion/complete", f'"ref":{raw},{good}')
    for name, arguments in book.surface.prompts.items():
        ref = f'"ref":{{"type":"ref/prompt","name":"{name}"}}'
        for key in (*arguments, "no_such", "", "\\ud800"):
            for raw in ('""', '"p"', '"pythonx"', '"\\u0000"', '"\\ud800"', "7", "null",
                        '"' + "a" * 5000 + '"'):
                either(book, f"complete/{name}/{key}/{raw[:30]}", "completion/complete",
                     f'{ref},"argument":{{"name":"{key}","value":{raw}}}')
    for template, variables in book.surface.templates.items():
        ref = f'"ref":{{"type":"ref/resource","uri":"{template}"}}'
        for key in (*variables, "no_such", "", "{"):
            for raw in ('""', '"d"', '"default"', '"\\u0000"', '"\\ud800"', "7"):
                either(book, f"complete/{template}/{key}/{raw}", "completion/complete",
                     f'{ref},"argument":{{"name":"{key}","value":{raw}}}')
        for raw in (*VALUES, '{"arguments":7}', '{"arguments":{"x":7}}', '{"arguments":{}}',
                    '{"arguments":{"profile":"' + "x" * 5000 + '"}}'):
            either(book, f"complete/{template}/context {raw[:40]}", "completion/complete",
                 f'{ref},"argument":{{"name":"{variables[0]}","value":""}},"context":{raw}')
    for raw in VALUES:
        either(book, f"complete/argument {raw}", "completion/complete",
             f'"ref":{{"type":"ref/prompt","name":"x"}},"argument":{raw}')


# --- the log's level ----------------------------------------------------------------------------

def add_levels(book):
    for raw in (*(f'"{level}"' for level in ("debug", "info", "notice", "warning", "error",
                                             "critical", "alert", "emergency", "Debug", "warn",
                                             "trace", "off", "err", "debug ", "\\u0064ebug",
                                             "\\ud800")), *VALUES):
        either(book, f"level/{raw}", "logging/setLevel", f'"level":{raw}')
    either(book, "level/none", "logging/setLevel", "")
    if "logging/setLevel" not in book.surface.methods:
        return
    run = call_text('"c"', "run_command", {"command": "true"})
    told = [{"note": "notifications/message", "says": f'"event":"{event}"'}
            for event in ("started", "ended")]
    for level, notes in (("debug", told), ("emergency", [])):
        line = message('"f"', '"logging/setLevel"', f'{{"level":"{level}"}}') + "\n"
        book.add(f"level/then a call/{level}", line + run, want=[result('"f"'), done('"c"',
                                                                                     "exit 0")],
                 slow=True, notes=notes)
        meta = META_TEXT[:-1] + f',"io.modelcontextprotocol/logLevel":"{level}"}}'
        book.add(f"level/of a call/{level}", modern(
            '"c"', '"tools/call"', ',"name":"run_command","arguments":{"command":"true"}',
            meta) + "\n",
                 want=[done('"c"', "exit 0", "modern")], slow=True, notes=notes)


# --- listening ----------------------------------------------------------------------------------

def ack(number):
    """What a listen is told first."""
    return {"note": "notifications/subscriptions/acknowledged", "says":
            f'"io.modelcontextprotocol/subscriptionId":{number}'}


def add_listening(book):
    if "subscriptions/listen" not in book.surface.methods:
        return
    fine = ("{}", '{"toolsListChanged":true}', '{"toolsListChanged":false}', '{"x":7}',
            '{"promptsListChanged":true,"resourcesListChanged":true}',
            '{"resourceSubscriptions":[]}',
            '{"resourceSubscriptions":["policy://default"]}',
            '{"resourceSubscriptions":["no such","policy://default","policy://default"]}',
            '{"resourceSubscriptions":["\\ud800",""]}')
    for number in ('"l"', "1.0", '""', "-7", '"\\u0061"'):
        for raw in fine:
            line = modern(number, '"subscriptions/listen"', ',"notifications":' + raw) + "\n"
            book.add(f"listen/{number}/{raw}", line + cancel(f'{{"requestId":{number}}}'), want=[],
                     notes=[ack(number)])
    for raw in (*(raw for raw in VALUES if raw[0] != "{"), '{"toolsListChanged":7}',
                '{"toolsListChanged":null}', '{"promptsListChanged":"true"}',
                '{"resourceSubscriptions":7}', '{"resourceSubscriptions":{}}',
                '{"resourceSubscriptions":[7]}', '{"resourceSubscriptions":[null]}',
                '{"resourceSubscriptions":[' + ",".join(['"x"'] * 257) + "]}"):
        line = modern('"l"', '"subscriptions/listen"', ',"notifications":' + raw) + "\n"
        book.add(f"listen/wrong {raw[:60]}", line, want=[error('"l"', -32602)])
    line = modern("1", '"subscriptions/listen"', ',"notifications":{}') + "\n"
    book.add("listen/the same id twice", line + line + cancel('{"requestId":1}'),
             want=[error("1", -32600, "in flight")], notes=[ack("1")])
    book.add("listen/seventeen", "".join(line.replace('"id":1', f'"id":{number}')
                                         for number in range(1, 18)) +
             "".join(cancel(f'{{"requestId":{number}}}') for number in range(1, 18)),
             want=[error("17", -32600, "16")], notes=[ack(str(number)) for number in range(1, 17)])
    book.add("listen/cancelled with another id", line + cancel('{"requestId":"1"}') +
             cancel('{"requestId":1.0}'), want=[], notes=[ack("1")])
    book.add("listen/as a notification", line.replace('"id":1,', ""), want=[])
    book.add_steps("listen/at the end of input",
                   [{"in": [line], "want": [], "notes": [ack("1")]}], alone=True, ends=True,
                   last=[], may_say=True)


# --- tasks --------------------------------------------------------------------------------------

def add_tasks(book):
    able = '"io.modelcontextprotocol/clientCapabilities":'
    for method in ("tasks/get", "tasks/update", "tasks/cancel"):
        if method not in book.surface.methods:
            continue
        for declared in ("{}", f'{{"extensions":{{"{TASKS}":{{}}}}}}', f'{{"{TASKS}":{{}}}}',
                         f'{{"extensions":{{"{TASKS}":true}}}}', f'{{"extensions":"{TASKS}"}}',
                         '{"tasks":{}}', '{"extensions":{}}'):
            more = VALUES if TASKS + '":{}}}' in declared else ()
            for raw in (*more, f'"{NO_SANDBOX}"', '"\\ud800"', None):
                meta = META_TEXT.replace(able + "{}", able + declared)
                rest = f',"taskId":{raw}' if raw else ""
                book.add(f"task/{method}/{declared}/{raw}",
                         modern('"t"', f'"{method}"', rest, meta) + "\n")


def add_polling(book):
    """A client that polls gets a task when the call yields."""
    if "tasks/get" not in book.surface.methods or "read_output" not in book.surface.tools:
        return
    meta = META_TEXT.replace('Capabilities":{}',
                             f'Capabilities":{{"extensions":{{"{TASKS}":{{}}}}}}')

    def ask(method, rest, number='"t"'):
        return modern(number, f'"{method}"', "," + rest, meta) + "\n"

    def about(method, says, number='"t"'):
        return step(ask(method, '"taskId":"$T$"', number), result(number, "modern", says))

    def run(command, yield_ms, says):
        return step(ask("tools/call", '"name":"run_command","arguments":' + dump(
            {"command": command, "yield_ms": yield_ms})), result('"t"', "modern", says),
                    **({"keep": {"T": r'"taskId":"([^"]+)"'}} if "task" in says else {}))
    pause = step(call_text("9", "run_command", {"command": "sleep 0.6"}), done("9", "exit 0"))
    start = run("sleep 60", 50, '"resultType":"task"')
    for number in ('"t"', "1.0", '""', "-7"):
        book.add_steps(f"poll/cancelled/{number}", [
            start, about("tasks/get", '"status":"working"', number),
            about("tasks/cancel", '"complete"', number),
            about("tasks/get", '"status":"cancelled"', number),
            about("tasks/cancel", '"complete"', number)])
    book.add_steps("poll/completed", [
        run("sleep 0.2; echo late", 50, '"resultType":"task"'), pause,
        about("tasks/get", "late\\n[exit 0"), about("tasks/cancel", '"complete"'),
        about("tasks/get", '"status":"completed"')])
    book.add_steps("poll/an update that nobody waits for", [
        start, step(ask("tasks/update", '"taskId":"$T$","inputResponses":{"x":{}}'),
                    result('"t"', "modern")), about("tasks/cancel", '"complete"')])
    book.add_steps("poll/an update without its answers", [
        start, step(ask("tasks/update", '"taskId":"$T$","inputResponses":7'),
                    error('"t"', -32602, "inputResponses")), about("tasks/cancel", '"complete"')])
    book.add_steps("poll/not for a handle", [run("sleep 0.2", 0, "still running"), pause])
    book.add_steps("poll/not what ends in time", [run("echo quick", 20000, "quick\\n[exit 0")])


def add_answers(book):
    """What a client sends along when it was asked something; nobody asked."""
    if "list_sandboxes" not in book.surface.tools:
        return
    for raw in (*VALUES, '{"x":{"action":"accept"}}', '{"x":7}'):
        for key in ("inputResponses", "requestState"):
            book.add(f"answer/{key}/{raw}", modern('"a"', '"tools/call"',
                                                   ',"name":"list_sandboxes",'
                                                   f'"{key}":{raw},"arguments":{{"x":1}}') + "\n",
                     want=[failed('"a"', "no argument", "modern")])


# --- executions that outlive their call ---------------------------------------------------------

def step(lines, *wants, **more):
    return dict({"in": [lines], "want": list(wants), "slow": True}, **more)


def handled(tool, rest="", number='"h"'):
    return call_text(number, tool, '{"handle":"$H$"' + rest + "}")


def add_handles(book):
    tools = book.surface.tools
    if "read_output" not in tools:
        return
    wrong = ("", "x", NO_SANDBOX, NO_SANDBOX + "-1", NO_SANDBOX + "-0", "-1", "$H$ ", " $H$",
             "$H$0",
             "$H$-1", "\\ud800", "$H$\\u0000", "h" * 5000, "%s", "../$H$", "\\n$H$")
    start = step(call_text("1", "run_command", {"command": "cat; echo end", "interactive": True,
                                                "yield_ms": 0}), done("1", "still running"),
                 keep={"H": HANDLE})
    end = step(handled("kill_execution"), done('"h"', "was killed"))
    for tool in ("read_output", "send_input", "kill_execution"):
        for handle in wrong:
            text = call_text("1.0", tool, '{"handle":"' + handle + '"}')
            book.add_steps(f"handle/{tool}/{handle[:40]}",
                           [start, step(text, failed("1.0", "")), end])
    talks = {
        "typed": [step(handled("send_input", ',"data":"hi\\n"'), done('"h"', "hi\\n"))],
        "typed, then its end": [step(handled("send_input", ',"data":"a\\n","eof":true'),
                                     done('"h"', "a\\nend\\n[exit 0"))],
        "only its end": [step(handled("send_input", ',"eof":true'), done('"h"', "end\\n[exit 0")),
                         step(handled("send_input", ',"data":"x"'), failed('"h"', "has ended"))],
        "nothing new": [step(handled("read_output", ',"wait_ms":0'), done('"h"', "no new output"))],
        "from an offset": [step(handled("send_input", ',"data":"0123456789"'), done('"h"',
                                                                                     "0123")),
                           step(handled("read_output", ',"offset":5'), done('"h"',
                                                                            "56789\\n[stdout")),
                           step(handled("read_output", ',"offset":10,"wait_ms":0'), done('"h"',
                                                                                         "")),
                           step(handled("read_output", ',"offset":9007199254740991,"wait_ms":0'),
                                done('"h"', "only 10 bytes"))],
        "little of it": [step(handled("send_input", ',"data":"0123456789\\n"'), done('"h"',
                                                                                      "0123")),
                         step(handled("read_output", ',"offset":0,"max_bytes":1,"wait_ms":0'),
                              done('"h"', "stdout"))],
        "the other stream": [step(handled("read_output", ',"stream":"stderr","wait_ms":0'),
                                  done('"h"', "still running"))],
        "a size without a terminal": [step(handled("send_input", ',"tty_rows":5,"tty_columns":5'),
                                           failed('"h"', "no terminal"))],
        "half a size": [step(handled("send_input", ',"tty_rows":5'), failed('"h"', "both"))],
        "a signal": [step(handled("kill_execution", ',"signal":"CONT"'), done('"h"', "SIGCONT"))],
        "ended by a signal": [step(handled("kill_execution", ',"signal":"TERM"'),
                                   done('"h"', "SIGTERM")),
                              step(handled("read_output"), done('"h"', "killed by signal 15"))],
        "NUL and others": [step(handled("send_input", ',"data":"\\u0000\\u001b\\n"'),
                                done('"h"', "\\\\x00\\\\x1b"))],
        "a lone surrogate": [step(handled("send_input", ',"data":"\\ud800"'),
                                  failed('"h"', "surrogate"))],
        "killed twice": [step(handled("kill_execution"), done('"h"', "was killed")),
                         step(handled("kill_execution"), done('"h"', "was killed")),
                         step(handled("read_output"), done('"h"', "was killed"))],
        "a read that is cancelled": [
            {"in": [handled("read_output", ',"wait_ms":50000', "99") + cancel('{"requestId":99}')],
             "want": []}, step(handled("read_output", ',"wait_ms":0'), done('"h"',
                                                                            "still running"))],
        "two reads at once, one is cancelled": [
            step(handled("read_output", ',"wait_ms":50000', "98") +
                 handled("read_output", ',"wait_ms":1000', "99") + cancel('{"requestId":98}') +
                 handled("send_input", ',"data":"x\\n"'), done("99", ""), done('"h"', ""),
                 free=True)],
        "killed while it is read": [
            step(handled("read_output", ',"wait_ms":50000', "98") + handled("kill_execution"),
                 done("98", "was killed"), done('"h"', "was killed"), free=True)],
        "the modern era": [step(modern('"h"', '"tools/call"', ',"name":"read_output","arguments":'
                                       '{"handle":"$H$","wait_ms":0}') + "\n",
                                done('"h"', "still running", "modern"))],
    }
    for label, steps in talks.items():
        book.add_steps(f"talk/{label}", [start, *steps, end if "was killed" not in dump(steps) and
                                         "exit 0" not in dump(steps) and "signal 15" not in
                                         dump(steps) else {"in": [], "want": []}])
    wait = call_text("9", "run_command", {"command": "sleep 0.3; echo late", "yield_ms": 0})
    book.add_steps("talk/it ends by itself", [
        step(wait, done("9", "still running"), keep={"H": HANDLE}),
        step(handled("read_output"), done('"h"', "late\\n[exit 0"))])
    book.add_steps("talk/the log is a resource", [
        step(wait, done("9", "still running"), keep={"H": HANDLE, "S": SANDBOX}),
        step(handled("read_output"), done('"h"', "late\\n[exit 0")),
        *([step(message("7", '"resources/read"', '{"uri":"sandbox://$S$/log/1"}') + "\n",
                result("7", says="late\\n"))] if book.surface.has_logs else [])])
    if "list_sandboxes" in tools:
        for number in ("1", '""', "1.0"):
            book.add_steps(f"talk/a list of nothing/{number}", [
                step(call_text(number, "list_sandboxes", {}), done(number, '"sandboxes":[]'))],
                alone=True, ends=True, last=[])
        book.add_steps("talk/a list of one", [
            start, step(call_text("2", "list_sandboxes", {}), done("2", '"state":"running"')), end],
            alone=True, ends=True, last=[])
    book.add_steps("talk/a terminal", [
        step(call_text("1", "run_command", {"command": "stty size; cat", "tty": True, "yield_ms": 0,
                                            "tty_rows": 7, "tty_columns": 99}),
             done("1", "still running"), keep={"H": HANDLE}),
        step(handled("send_input", ',"data":"x\\n"'), done('"h"', "7 99\\nx"), free=True), end])


# --- persistent sandboxes ------------------------------------------------------------------------

NOBODYS = (NO_SANDBOX, "x", "../x", "/", "%s", "-", ".", "\\n", "\\u001b[2J", "\u00e9", "n" * 63,
           NO_SANDBOX.upper(), NO_SANDBOX + "0")


def add_sandboxes(book):
    """Of those that nobody has, every tool says the same."""
    about = {"destroy_sandbox": "", "checkpoint": ',"action":"list"', "diff_changes": "",
             "preview_changes": "", "apply_changes": "", "run_command": ',"command":"true"',
             "run_code": ',"language":"bash","code":"true"', "read_sandbox_file": ',"path":"a"',
             "write_sandbox_file": ',"path":"a","content":"x"', "list_sandbox_files": "",
             "patch_sandbox_files": ',"patch":"*** Begin Patch"'}
    for tool, rest in about.items():
        if "sandbox" not in book.surface.tools.get(tool, {}).get("properties", {}):
            continue
        for name in NOBODYS:
            book.add(f"sandbox/{tool}/{name[:30]}",
                     call_text("1", tool, '{"sandbox":"' + name + '"' + rest + "}"),
                     want=[failed("1", "There is no sandbox")], slow=True)
        book.add(f"sandbox/{tool}/modern", modern(
            "1", '"tools/call"', f',"name":"{tool}","arguments":{{"sandbox":"x"{rest}}}') + "\n",
                 want=[failed("1", "There is no sandbox", "modern")], slow=True)
        book.add(f"sandbox/{tool}/empty",
                 call_text("1", tool, '{"sandbox":""' + rest + "}"),
                 want=[failed("1", "`sandbox`")], slow=True)


FAMILIES = (add_resources, add_prompts, add_completion, add_levels, add_listening, add_tasks,
            add_polling, add_answers, add_handles, add_sandboxes)


def templates_of(listed):
    """{template: its variables' names}."""
    return {entry["uriTemplate"]: [part.split("}")[0].lstrip("+") for part in
                                   entry["uriTemplate"].split("{")[1:]] for entry in listed}


def has_logs(templates):
    return any(json.dumps(template).count("log") for template in templates)
