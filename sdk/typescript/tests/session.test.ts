import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { Belljar, Refused } from "belljar";

const PYTHON = { language: "python", engine: "native" } as const;
const JAVASCRIPT = { language: "javascript", engine: "wasm" } as const;

let belljar: Belljar;
before(async () => {
  belljar = await Belljar.start();
});
after(() => belljar.close());

test("variables and files stay, and errors do no harm", async () => {
  await using session = belljar.session();
  const first = await session.run("numbers = {'a_b': [1, 2]}\nopen('note.txt', 'w').write('hello')", PYTHON);
  assert.deepEqual([first.session, first.files.map((it) => it.path)], [session.name, ["note.txt"]]);
  assert.equal(await first.files[0]?.text(), "hello");
  assert.equal((await session.run("1 / 0", PYTHON)).error?.kind, "ZeroDivisionError");
  // The program's own data is not renamed.
  assert.deepEqual((await session.run("numbers", PYTHON)).result, { a_b: [1, 2] });
  assert.match((await session.run("object()", PYTHON)).resultRepr ?? "", /^<object object at /);
  const [info] = (await belljar.sessions()).filter((it) => it.session === session.name);
  assert.deepEqual([info?.engine, info?.languages, info?.state], ["native", ["python"], "idle"]);
});

test("pictures that a cell shows are there", async () => {
  await using session = belljar.session();
  const code = `
class Dot:
    def _repr_png_(self): return b"\\x89PNG\\r\\n\\x1a\\n" + bytes(8)
    def __repr__(self): return "a dot"
Dot()
`;
  const { displays, images, resultRepr } = await session.run(code, PYTHON);
  assert.equal(resultRepr, "a dot");
  assert.deepEqual(displays.map(({ mime, size }) => ({ mime, size })), [{ mime: "image/png", size: 16 }]);
  assert.deepEqual(images, [{ mime: "image/png", data: await displays[0]?.bytes() }]);
});

test("files go in and out as they are", async () => {
  await using session = belljar.session();
  const bytes = Uint8Array.from({ length: 1_500_000 }, (_, index) => (index * 7) % 256);
  const controls = "\x01".repeat(1_500_000);
  await session.writeFile("deep/er/bytes.bin", bytes);
  await session.writeFile("picture.png", Buffer.concat([Buffer.from("\x89PNG\r\n\x1a\n", "latin1"), bytes]));
  await session.writeFile("controls.txt", controls);
  await session.writeFile("text.txt", "grün\n");
  await session.writeFile("text.txt", "€\n", { append: true });
  assert.deepEqual(await session.readFile("deep/er/bytes.bin"), bytes);
  assert.deepEqual((await session.readFile("picture.png")).subarray(8), bytes);
  assert.equal(await session.readText("controls.txt"), controls);
  assert.equal(await session.readText("text.txt"), "grün\n€\n");
  const { files, more } = await session.listFiles("deep/er");
  assert.deepEqual([files, more], [[
    { path: "deep/er/bytes.bin", kind: "file", size: 1_500_000, mime: "application/octet-stream" },
  ], false]);
  assert.deepEqual((await session.listFiles()).files.map((it) => `${it.kind} ${it.path}`), [
    "file controls.txt", "folder deep", "folder deep/er", "file deep/er/bytes.bin", "file picture.png", "file text.txt",
  ]);
  await assert.rejects(session.readFile("missing"), Refused);
  await assert.rejects(session.writeFile("../out", ""), Refused);
});

test("a copy goes its own way, and what was saved comes back", async () => {
  await using session = belljar.session();
  await session.run("let x = 1", JAVASCRIPT);
  await using copy = await session.fork();
  await copy.run("x = 2", JAVASCRIPT);
  // Always the same: saved sessions stay, and a caller has 32 of them.
  const saved = "typescript-test";
  await copy.save(saved);
  assert.equal((await session.run("x", JAVASCRIPT)).result, 1);
  await using later = await Belljar.start();
  await using restored = await later.session().restore(saved);
  assert.equal((await restored.run("x", JAVASCRIPT)).result, 2);
});

test("a session that is closed is gone", async () => {
  const session = belljar.session("gone");
  await session.writeFile("a", "");
  await session.close();
  assert.deepEqual((await belljar.sessions()).filter((it) => it.session === "gone"), []);
  await assert.rejects(session.close(), Refused);
  // Leaving a block with a session that was never used, or is gone, is no error.
  await session[Symbol.asyncDispose]();
  await assert.rejects(belljar.session("not a name").run("1", PYTHON), Refused);
});
