import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";

import { Belljar, BelljarError } from "belljar";

import { goesOn, until } from "./support.js";

const here = new URL("../..", import.meta.url);

test("the quick start of the README does what it says", async () => {
  const program = readFileSync(new URL("examples/quickstart.ts", here), "utf8");
  const readme = readFileSync(new URL("README.md", here), "utf8");
  assert(readme.includes(`\`\`\`ts\n${program}\`\`\``), "the README has the program as it is");
  const compiled = new URL("build/examples/quickstart.js", here).pathname;
  const { stdout } = await promisify(execFile)(process.execPath, [compiled]);
  assert.equal(stdout, "45 1 ZeroDivisionError\n22\n1\n2\n3\n");
  assert(readme.includes(`\`\`\`\n${stdout}\`\`\``), "the README has what it prints");
});

test("closing ends everything", async () => {
  const marker = `typescript-closed-${process.pid}`;
  let run: Promise<unknown>;
  {
    await using belljar = await Belljar.start();
    run = assert.rejects(belljar.run(`exec -a ${marker} sleep 1000`, { language: "bash" }), BelljarError);
    await until(() => goesOn(marker));
  }
  await run;
  await until(() => !goesOn(marker));
});

test("a belljar that ends is an error for those who wait", async () => {
  const folder = mkdtempSync(join(tmpdir(), "belljar-"));
  const serve = 'echo $$ > "$0/pid"; exec "$1" serve';
  const command = process.env["BELLJAR_BIN"] ?? "belljar";
  await using belljar = await Belljar.start({ command: "sh", args: ["-c", serve, folder, command] });
  const marker = `typescript-killed-${process.pid}`;
  const run = assert.rejects(belljar.run(`exec -a ${marker} sleep 1000`, { language: "bash" }), BelljarError);
  await until(() => goesOn(marker));
  process.kill(Number(readFileSync(join(folder, "pid"), "utf8")), "SIGKILL");
  await run;
  await until(() => !goesOn(marker));
  await assert.rejects(belljar.run("echo", { language: "bash" }), BelljarError);
  rmSync(folder, { recursive: true });
});

test("what cannot be started is an error", async () => {
  await assert.rejects(Belljar.start({ command: "/no/such/belljar" }), BelljarError);
  await assert.rejects(Belljar.start({ command: "false" }), BelljarError);
});
