"""The least of an MCP server that a library can be measured behind: the same pipes and the same messages for every peer."""

import json
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

AT_A_TIME = 8


class Stopped(Exception):
    """A run that failed or was stopped, with what it had printed by then."""

    def __init__(self, printed, error):
        super().__init__(f"{printed}{type(error).__name__}: {error}")


def serve(run, cancel=lambda number: None):
    """`run(code, timeout, number)` gives what was printed; what it raises is the answer too, as an error."""
    lock = threading.Lock()

    def answer(number, result):
        line = json.dumps({"jsonrpc": "2.0", "id": number, "result": result})
        with lock:
            sys.stdout.write(line + "\n")
            sys.stdout.flush()

    def call(number, arguments):
        try:
            text, failed = run(arguments["code"], arguments.get("timeout_ms", 30_000) / 1000, number), False
        except Stopped as stopped:
            text, failed = str(stopped), True
        except BaseException as error:
            text, failed = f"{type(error).__name__}: {error}", True
        answer(number, {"content": [{"type": "text", "text": text}], "isError": failed})

    with ThreadPoolExecutor(AT_A_TIME) as workers:
        for line in sys.stdin:
            message = json.loads(line)
            match message["method"]:
                case "initialize":
                    answer(message["id"], {})
                case "tools/call":
                    workers.submit(call, message["id"], message["params"]["arguments"])
                case "notifications/cancelled":
                    cancel(message["params"]["requestId"])
