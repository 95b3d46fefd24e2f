"""asyncio without sockets. The stock event loop wakes itself through a pair of sockets, which WASI does not have; with one thread there is
nobody to wake it. Timers, tasks, queues, locks and timeouts are all there is to wait for.

The stock classes are changed, not replaced: `asyncio.EventLoop`, `SelectorEventLoop`, `new_event_loop` and the policy stay what they are.
"""

import asyncio
import asyncio.selector_events
import asyncio.unix_events
import errno
import selectors
import socket
import time


class Selector(selectors._BaseSelectorImpl):
    """Waits for the clock alone."""

    def register(self, fileobj, events, data=None):
        raise OSError(errno.ENOTSUP, "WebAssembly has no sockets to wait for")

    def select(self, timeout=None):
        if timeout is None:
            # No task is ready, no timer is set, and nothing else can happen: better said than waited for.
            raise RuntimeError("deadlock: the event loop waits for something that cannot happen")
        if timeout > 0:
            time.sleep(timeout)
        return []


def install():
    loop = asyncio.selector_events.BaseSelectorEventLoop
    loop._make_self_pipe = lambda self: None
    loop._close_self_pipe = lambda self: None
    loop._write_to_self = lambda self: None
    # The stock ones ask in a thread.
    loop.getaddrinfo = loop.getnameinfo = no_network
    loop.connect_read_pipe = loop.connect_write_pipe = no_pipes
    # What Windows raises too, so that programs know it.
    asyncio.unix_events._UnixSelectorEventLoop.add_signal_handler = no_signals
    selectors.DefaultSelector = Selector


async def no_network(*arguments, **options):
    raise socket.gaierror(socket.EAI_FAIL, "no network in WebAssembly")


async def no_pipes(*arguments):
    raise OSError(errno.ENOTSUP, "WebAssembly has no pipes to wait for")


def no_signals(*arguments):
    raise NotImplementedError("WebAssembly has no signals")


def run(coroutine):
    with asyncio.Runner() as runner:
        return runner.run(coroutine)
