import eryx
from served import Stopped, serve

MEMORY = 512 << 20


def sandbox(timeout, **how):
    limits = eryx.ResourceLimits(execution_timeout_ms=int(timeout * 1000), max_memory_bytes=MEMORY)
    return eryx.Sandbox(resource_limits=limits, **how)


# One is for many runs: each has an instance of its own.
usual = sandbox(30)


def run(code, timeout, _number):
    if timeout == 30:
        return usual.execute(code).stdout_text
    printed = []
    try:
        return sandbox(timeout, on_stdout=printed.append).execute(code).stdout_text
    except eryx.EryxError as error:
        raise Stopped(b"".join(printed).decode(), error)


serve(run)
