"""A day in the life of a session, through the protocol's own client: a table is uploaded, explored, plotted, carried on in WebAssembly in two ways,
and a report of it read back. Raises where an answer is wrong.

Usage: day.py BELLJAR TRANSCRIPT

The transcript is what `bench picture --session` draws: each call, the lines that stand for it and for its answer, and the picture that came.
"""

import asyncio
import base64
import json
import os
import struct
import sys
import zlib
from collections import Counter

import mcp

SALES = """month,tea,coffee
1,310,505
2,318,510
3,331,455
4,340,n/a
5,352,480
6,349,431
7,371,470
8,380,n/a
9,388,400
10,402,420
11,409,372
12,421,351
"""

READ = """import pandas as pd
df = pd.read_csv('sales.csv')
df.head(4)"""

CLEAN = """df['coffee'] = df.coffee.interpolate()
df.to_csv('clean.csv', index=False)
df.coffee.isna().sum().item()"""

SUMMARY = """df['total'] = df.tea + df.coffee
df[['tea', 'coffee', 'total']].agg(['min', 'mean', 'max']).round(1)"""

PLOT = """import matplotlib.pyplot as plt
df.plot(x='month', y=['tea', 'coffee'], marker='o', figsize=(6, 2.6), title='Sales')
plt.tight_layout()"""

# Matplotlib's first two colours.
TEA, COFFEE = (31, 119, 180), (255, 127, 14)

LOAD = """import csv
from statistics import linear_regression, mean
tea = [int(row['tea']) for row in csv.DictReader(open('clean.csv'))]
len(tea)"""

TREND = """slope, start = linear_regression(range(12), tea)
guess = round(start + 12 * slope)
guess"""

RECENT = """guess = round(mean(tea[-3:]))
guess"""

REPORT = """with open('report.md', 'w') as report:
    print(f'# Sales\\n\\nTotal {df.total.sum():.0f}. Tea next January: {trend}, by its trend.', file=report)"""

# The longest answer that is drawn whole.
MOST_LINES = 7


class Day:
    """The calls of a day, and what came of them."""

    def __init__(self, client):
        self.client = client
        self.transcript = []

    async def tool(self, name, /, **given):
        result = await self.client.call_tool(name, given)
        assert not result.is_error, result
        return result

    async def cell(self, session, code, **given):
        """A cell of Python: the structured result, and the one picture where there is one."""
        given = {"session": session, "language": "python", "code": code} | given
        result = await self.tool("run_code", **given)
        content = result.structured_content
        pictures = [block for block in result.content if block.type == "image"]
        answered = content["stdout"].splitlines()
        if "result_repr" in content:
            answered += content["result_repr"].splitlines()
        elif "result" in content:
            answered.append(json.dumps(content["result"], separators=(",", ":")))
        answered += [f"{file['path']}, {file['bytes']} bytes" for file in content.get("files", [])]
        prompt = f"{session}> "
        asked = (prompt + code.replace("\n", "\n" + " " * len(prompt))).splitlines()
        others = [f"{name}={str(given[name]).replace(' ', '')}" for name in ["engine", "variables"] if name in given]
        if others:
            asked.insert(0, " ".join(["run_code", f"session={session}", *others]))
        self.keep("run_code", given, asked, answered, *pictures)
        return content, pictures

    async def other(self, name, /, **given):
        """A call of another tool, or reading a resource."""
        if name == "resources/read":
            [contents] = (await self.client.read_resource(given["uri"])).contents
            content, text = contents, contents.text
        else:
            result = await self.tool(name, **given)
            content, text = result.structured_content, result.content[0].text
        shown = [f"{key}={value if len(value) < 40 else '…'}" for key, value in given.items() if key != "text"]
        self.keep(name, given, [" ".join([name, *shown])], text.splitlines())
        return content

    def keep(self, name, given, asked, answered, *pictures):
        if len(answered) > MOST_LINES:
            kept = MOST_LINES - 4
            answered = [*answered[:kept], f"… {len(answered) - kept} more lines"]
        entry = {"call": name, "arguments": given, "asked": asked, "answered": answered}
        self.transcript.append(entry | {"picture": picture.data for picture in pictures})


def pixels(png):
    """The width, height and pixels of a PNG of eight bits a channel, with every sum checked."""
    assert png.startswith(b"\x89PNG\r\n\x1a\n"), png[:16]
    at, data, header = 8, b"", None
    while at < len(png):
        length, kind = struct.unpack_from(">I4s", png, at)
        chunk = png[at + 8 : at + 8 + length]
        assert zlib.crc32(kind + chunk) == struct.unpack_from(">I", png, at + 8 + length)[0], kind
        header = struct.unpack(">IIBBBBB", chunk) if kind == b"IHDR" else header
        data += chunk if kind == b"IDAT" else b""
        at += 12 + length
    assert kind == b"IEND", kind
    width, height, depth, colours, *rest = header
    assert (depth, colours, rest) == (8, 6, [0, 0, 0]), header
    raw, size = zlib.decompress(data), 4 * width
    assert len(raw) == height * (size + 1), header
    before, found = bytes(size), []
    for start in range(0, len(raw), size + 1):
        row = bytearray(raw[start + 1 : start + 1 + size])
        for n in range(size) if raw[start] else ():
            left, up, corner = (row[n - 4], before[n], before[n - 4]) if n >= 4 else (0, before[n], 0)
            row[n] = row[n] + predicted(raw[start], left, up, corner) & 255
        found += zip(*[iter(row)] * 4)
        before = row
    return width, height, found


def predicted(kind, left, up, corner):
    if kind == 4:
        nearest = left + up - corner
        return min((left, up, corner), key=lambda value: abs(nearest - value))
    return {1: left, 2: up, 3: (left + up) // 2}[kind]


def is_the_plot(png):
    width, height, found = pixels(png)
    assert 450 < width < 700 and 200 < height < 320, (width, height)
    count = Counter(pixel[:3] for pixel in found)
    assert count[TEA] > 300 and count[COFFEE] > 300, count.most_common(5)
    assert count[(255, 255, 255)] > width * height / 2, count.most_common(5)


async def live(client):
    day = Day(client)
    written = await day.other("write_file", session="day", path="sales.csv", text=SALES)
    assert written["bytes"] == len(SALES), written

    content, _ = await day.cell("day", READ)
    lines = content["result_repr"].splitlines()
    assert lines[0].split() == ["month", "tea", "coffee"] and lines[4].split() == ["3", "4", "340", "NaN"], content
    assert [display["mime"] for display in content["displays"]] == ["text/html"], content
    content, _ = await day.cell("day", CLEAN)
    assert content["result"] == 0 and [file["path"] for file in content["files"]] == ["clean.csv"], content
    content, _ = await day.cell("day", SUMMARY)
    assert content["result_repr"].splitlines()[2].split()[0] == "mean", content

    content, [picture] = await day.cell("day", PLOT)
    assert [display["mime"] for display in content["displays"]] == ["image/png"] == [picture.mime_type], content
    is_the_plot(base64.b64decode(picture.data, validate=True))

    clean = (await day.other("resources/read", uri="session://day/files/clean.csv")).text
    assert "n/a" not in clean and len(clean.splitlines()) == 13, clean
    await day.other("write_file", session="plan", path="clean.csv", text=clean)
    content, _ = await day.cell("plan", LOAD, engine="wasm")
    assert (content["result"], content["engine"]) == (12, "wasm"), content
    guesses = {}
    for way, code in [("trend", TREND), ("recent", RECENT)]:
        await day.other("fork_session", session="plan", **{"as": way})
        content, _ = await day.cell(way, code)
        guesses[way] = content["result"]
    assert 420 < guesses["trend"] < 445 and guesses["recent"] == 411, guesses
    # Where both began nothing has happened.
    content, _ = await day.cell("plan", "'guess' in globals(), len(tea)")
    assert content["result"] == [False, 12], content

    content, _ = await day.cell("day", REPORT, variables={"trend": guesses["trend"]})
    assert [file["path"] for file in content["files"]] == ["report.md"], content
    read = await day.other("read_file", session="day", path="report.md")
    assert read["text"].startswith("# Sales\n\nTotal ") and f": {guesses['trend']}, by" in read["text"], read
    return day.transcript


async def main(belljar, transcript):
    server = mcp.StdioServerParameters(command=belljar, args=["serve"], env=dict(os.environ))
    async with mcp.Client(server) as client:
        steps = await asyncio.wait_for(live(client), 300)
    with open(transcript, "w") as file:
        json.dump(steps, file, indent=1)


asyncio.run(main(*sys.argv[1:]))
