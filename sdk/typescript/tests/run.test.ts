import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { Belljar, Refused, RunFailed, type RunOptions, type RunResult } from "belljar";

import { goesOn, until } from "./support.js";

const PYTHON = { language: "python", engine: "native" } as const;
const BASH = { language: "bash" } as const;

let belljar: Belljar;
before(async () => {
  belljar = await Belljar.start();
});
after(() => belljar.close());

test("a run gives back what came of it", async () => {
  const run = await belljar.run("import sys\nprint('out')\nprint('err', file=sys.stderr)", PYTHON);
  const { isolation, usage, runtime, check, readAll, ...rest } = run;
  assert.deepEqual(rest, {
    status: "completed",
    ok: true,
    exitCode: 0,
    signal: null,
    limit: null,
    stdout: "out\n",
    stderr: "err\n",
    dropped: { stdout: 0, stderr: 0 },
    images: [],
    displays: [],
    files: [],
    skippedFiles: [],
    engine: "native",
    text: "out\n[stderr]\nerr",
  });
  assert.equal(runtime.language, "python");
  assert.equal(isolation.level, "full");
  assert(usage.wallMs > 0 && usage.peakMemoryBytes > 0);
  assert.equal(await run.readAll("stdout"), "out\n");
  assert.equal(run.check(), run);
});

test("results have what the tool's schema has", async () => {
  // The compiler holds these against the types, the test against the schema.
  const fields: Record<Exclude<keyof RunResult, "ok" | "images" | "text" | "check" | "readAll">, true> & { run: true } = {
    status: true, exitCode: true, signal: true, limit: true, stdout: true, stderr: true, dropped: true,
    diagnostics: true, result: true, resultRepr: true, displays: true, error: true, files: true, skippedFiles: true,
    session: true, state: true, run: true, engine: true, runtime: true, promoted: true, packages: true,
    isolation: true, usage: true,
  };
  const options: Record<Exclude<keyof RunOptions, "signal" | "onOutput">, true> & { code: true; session: true } = {
    code: true, session: true, language: true, stdin: true, args: true, compilerArgs: true, env: true, files: true,
    variables: true, packages: true, network: true, engine: true, timeoutMs: true, memoryMb: true,
  };
  // The words that these fields can have.
  const words: { [Field in "status" | "state" | "engine"]: Record<NonNullable<RunResult[Field]>, true> } = {
    status: { completed: true, crashed: true, timed_out: true, limit_exceeded: true, cancelled: true },
    state: { lost: true, gone: true },
    engine: { wasm: true, native: true },
  };
  const client = new Client({ name: "test", version: "1" });
  await client.connect(new StdioClientTransport({ command: process.env["BELLJAR_BIN"] ?? "belljar", args: ["serve"] }));
  const tool = (await client.listTools()).tools.find((it) => it.name === "run_code");
  await client.close();
  const names = (properties: unknown) =>
    Object.keys(Object(properties)).map((name) => name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())).sort();
  assert.deepEqual(Object.keys(fields).sort(), names(tool?.outputSchema?.properties));
  assert.deepEqual(Object.keys(options).sort(), names(tool?.inputSchema.properties));
  for (const [field, known] of Object.entries(words)) {
    const { description }: { description: string } = Object(tool?.outputSchema?.properties)[field];
    const said = [...description.matchAll(/`(\w+)`/g)].map(([, word]) => word);
    assert.deepEqual(Object.keys(known).sort(), said.sort(), field);
  }
});

test("however a program ends, that is a result", async () => {
  const failed = await belljar.run("def f():\n  return 1 / 0\nf()", PYTHON);
  assert.deepEqual([failed.status, failed.ok, failed.exitCode], ["completed", false, 1]);
  assert.deepEqual(failed.error, { kind: "ZeroDivisionError", message: "division by zero", line: 2 });
  const crashed = await belljar.run("kill -SEGV $$", BASH);
  assert.deepEqual([crashed.status, crashed.exitCode, crashed.signal], ["crashed", null, "SIGSEGV"]);
  const slow = await belljar.run("sleep 60", { ...BASH, timeoutMs: 200 });
  assert.deepEqual([slow.status, slow.ok, slow.exitCode], ["timed_out", false, null]);
  assert.throws(() => failed.check(), new RunFailed(failed));
  const words = [failed, crashed, slow].map((run) => new RunFailed(run).message);
  assert.deepEqual(words, ["exit code 1; ZeroDivisionError: division by zero", "crashed: SIGSEGV", "timed_out"]);
});

test("a program gets what it is given", async () => {
  const run = await belljar.run('cat; echo "$1 $NAME"; cat folder/text; od -An -tx1 bytes', {
    ...BASH,
    stdin: "in\n",
    args: ["argument"],
    env: { NAME: "value" },
    files: { "folder/text": "contents\n", bytes: Uint8Array.of(0, 255) },
    memoryMb: 64,
  });
  assert.equal(run.stdout, "in\nargument value\ncontents\n 00 ff\n");
  const variables = { table: [{ name: "a", snake_case: 1.5 }], none: null };
  const given = await belljar.run("print(table, none)", { ...PYTHON, variables });
  assert.equal(given.stdout, "[{'name': 'a', 'snake_case': 1.5}] None\n");
});

test("a refusal says what would work", async () => {
  await assert.rejects(belljar.run("1", { language: "pyton" }), (error) => {
    assert(error instanceof Refused);
    assert.match(error.message, /^`pyton` is not a language belljar knows\. Hint: .*`python`/);
    return true;
  });
  await assert.rejects(belljar.run("1", { ...PYTHON, timeoutMs: 1e9 }), Refused);
});

test("files come back, and pictures at once", async () => {
  const code = `
import zlib, struct
def chunk(kind, data): return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
png = b"\\x89PNG\\r\\n\\x1a\\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0))
png += chunk(b"IDAT", zlib.compress(b"\\0\\0")) + chunk(b"IEND", b"")
open("dot.png", "wb").write(png)
open("large.bin", "wb").write(bytes(range(256)) * 8_000)
open("large.txt", "w").write("ü€😀" * 200_000)
`;
  const { files, images } = await belljar.run(code, PYTHON);
  assert.deepEqual(
    files.map(({ path, size, mime }) => ({ path, size, mime })),
    [
      { path: "dot.png", size: 67, mime: "image/png" },
      { path: "large.bin", size: 2_048_000, mime: "application/octet-stream" },
      { path: "large.txt", size: 1_800_000, mime: "text/plain" },
    ],
  );
  const [png, binary, text] = files;
  assert.deepEqual(images, [{ mime: "image/png", data: await png?.bytes() }]);
  const bytes = await binary?.bytes();
  assert(bytes?.length === 2_048_000 && bytes.every((byte, index) => byte === index % 256));
  assert.equal(await text?.text(), "ü€😀".repeat(200_000));
});

test("output that does not fit can be read", async () => {
  const run = await belljar.run("print('\\x01' * 3_000_000 + 'end')", PYTHON);
  assert(run.dropped.stdout > 0 && run.stdout.endsWith("end\n"));
  assert.equal(await run.readAll("stdout"), `${"\x01".repeat(3_000_000)}end\n`);
});

test("output is told as it comes", async () => {
  const told: string[] = [];
  const onOutput = (text: string) => told.push(text);
  // Longer than belljar is silent, which must not be taken for output.
  const { stdout } = await belljar.run("echo first; sleep 6; echo last; sleep 0.5", { ...BASH, onOutput });
  assert.equal(stdout, "first\nlast\n");
  assert.deepEqual(told, ["first\n", "last\n"]);

  const events: string[] = [];
  for await (const event of belljar.stream("echo one; sleep 0.5; exit 3", BASH)) {
    events.push(event.type === "output" ? event.text : `exit code ${event.result.exitCode}`);
  }
  assert.deepEqual(events, ["one\n", "exit code 3"]);
  await assert.rejects(belljar.stream("1", { language: "pyton" })[Symbol.asyncIterator]().next(), Refused);
});

test("a stream has all of what a run printed", async () => {
  for (let round = 0; round < 20; round++) {
    let told = "";
    for await (const event of belljar.stream("echo one; echo two", BASH)) {
      told += event.type === "output" ? event.text : "";
    }
    assert.equal(told, "one\ntwo\n");
  }
});

test("leaving a stream ends the run", async () => {
  const marker = `typescript-left-${process.pid}`;
  for await (const event of belljar.stream(`echo on; exec -a ${marker} sleep 1000`, BASH)) {
    assert.deepEqual(event, { type: "output", text: "on\n" });
    await until(() => goesOn(marker));
    break;
  }
  await until(() => !goesOn(marker));
});

test("a stream can be left when the run has ended", async () => {
  // The result may have come with the output. That nobody takes it is no error.
  for (let round = 0; round < 50; round++) {
    for await (const event of belljar.stream("echo one", BASH)) {
      assert.deepEqual(event, { type: "output", text: "one\n" });
      break;
    }
  }
  assert.equal((await belljar.run("echo still here", BASH)).stdout, "still here\n");
});

test("a signal ends the run", async () => {
  const marker = `typescript-aborted-${process.pid}`;
  const abort = new AbortController();
  const run = belljar.run(`exec -a ${marker} sleep 1000`, { ...BASH, signal: abort.signal });
  await until(() => goesOn(marker));
  const reason = new Error("no longer wanted");
  abort.abort(reason);
  await assert.rejects(run, reason);
  await until(() => !goesOn(marker));
  await assert.rejects(belljar.run("echo", { ...BASH, signal: abort.signal }), reason);
  await assert.rejects(belljar.run("sleep 60", { ...BASH, signal: AbortSignal.timeout(200) }), { name: "TimeoutError" });
  assert.equal((await belljar.run("echo still here", BASH)).stdout, "still here\n");
});

test("runs side by side do not mix", async () => {
  const runs = Array.from({ length: 8 }, (_, n) => belljar.run(`sleep 0.2; echo ${n}`, BASH));
  assert.deepEqual((await Promise.all(runs)).map((run) => run.stdout), Array.from({ length: 8 }, (_, n) => `${n}\n`));
});

test("what can be run is listed", async () => {
  const { languages, unavailable, defaults } = await belljar.runtimes();
  assert(languages.some((it) => it.language === "python" && it.aliases.includes("py") && it.engines.includes("native")));
  assert(unavailable.every((it) => it.reason !== ""));
  assert.deepEqual([defaults.timeoutMs, defaults.memoryMb], [30_000, 512]);
  assert.equal((await belljar.environment()).type, "host");
  assert.deepEqual((await belljar.packages(["no-such-package-0"])).missing, ["no-such-package-0"]);
});
