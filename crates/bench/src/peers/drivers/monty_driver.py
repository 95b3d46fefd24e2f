import asyncio

import pydantic_monty
from served import AT_A_TIME, Stopped, serve

MEMORY = 512 << 20

# Its synchronous calls are the faster ones, and cannot be cancelled; those that are to be cancelled say so in their code.
CANCELLABLE = "# cancelled"
running = {}


def limits(timeout):
    return {"max_feed_duration_secs": timeout, "max_memory": MEMORY}


def run(code, timeout, number):
    if CANCELLABLE in code:
        return asyncio.run(run_cancellable(code, timeout, number))
    printed = pydantic_monty.CollectString()
    with pool.checkout(limits=limits(timeout)) as session:
        try:
            session.feed_run(code, print_callback=printed)
        except pydantic_monty.MontyError as error:
            raise Stopped(printed.output, error)
    return printed.output


async def run_cancellable(code, timeout, number):
    running[number] = (asyncio.get_running_loop(), asyncio.current_task())
    async with pydantic_monty.AsyncMonty() as own, own.checkout(limits=limits(timeout)) as session:
        await session.feed_run(code)


def cancel(number):
    loop, task = running[number]
    loop.call_soon_threadsafe(task.cancel)


with pydantic_monty.Monty(max_processes=AT_A_TIME) as pool:
    serve(run, cancel)
