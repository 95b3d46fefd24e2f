// Records what the original servers answer, for `profiles.rs` to hold our profiles against.
//
//   node record.mjs FOLDER [PROFILE…]
//
// installs the originals from npm and PyPI into FOLDER, asks each the requests of `requests.mjs` one after the other, and writes
// `recorded/PROFILE.json`. Prose (descriptions, instructions) is left out: it is not part of a contract. An entry says where it is from:
// `recorded`, or `contract` where the original cannot run without hosts other than the registries, or is on no registry; those replies are in
// `requests.mjs`.

import { execFileSync, spawn } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { PROFILES } from "./requests.mjs";

const PACKAGES = ["@mcpc-tech/code-runner-mcp@0.1.21", "mcp-server-code-runner@0.1.8", "@runno/sandbox@0.10.2", "deno@2.9.6"];
const HERE = import.meta.dirname;
const [folder, ...only] = process.argv.slice(2);
if (!folder) throw new Error("usage: node record.mjs FOLDER [PROFILE…]");
const at = (...parts) => path.resolve(folder, ...parts);
const modules = (...parts) => at("npm", "node_modules", ...parts);

const STARTED = {
  "mcp-server-code-runner": () => [process.execPath, [modules("mcp-server-code-runner/dist/cli.js")], {}],
  "code-runner-mcp": () => [
    process.execPath,
    [modules("@mcpc-tech/code-runner-mcp/bin/code-runner-mcp.mjs")],
    { PYODIDE_PACKAGE_CACHE_DIR: pyodideCache() },
  ],
  "mcp-run-python": () => [modules(".bin/deno"), ["run", "-A", "--no-lock", "--import-map", importMap(), deno("src/main.ts"), "stdio"], {}],
};

function install() {
  fs.mkdirSync(at("npm"), { recursive: true });
  execFileSync("npm", ["install", "--no-audit", "--no-fund", "--prefix", at("npm"), ...PACKAGES], { stdio: "inherit" });
  if (!fs.existsSync(at("py"))) execFileSync("python3", ["-m", "venv", at("py")], { stdio: "inherit" });
  execFileSync(at("py/bin/pip"), ["install", "--quiet", "mcp-run-python==0.0.22"], { stdio: "inherit" });
}

// Pyodide would fetch micropip from a script CDN; PyPI has the same wheel.
function pyodideCache() {
  const cache = at("pyodide-cache");
  fs.mkdirSync(cache, { recursive: true });
  const { file_name, version } = JSON.parse(fs.readFileSync(modules("pyodide/pyodide-lock.json"))).packages.micropip;
  if (!fs.existsSync(path.join(cache, file_name))) {
    const wanted = ["--no-deps", "--only-binary=:all:", "--python-version", "3.13", `micropip==${version}`];
    execFileSync(at("py/bin/pip"), ["download", "--quiet", ...wanted, "-d", cache], { stdio: "inherit" });
  }
  return cache;
}

function deno(...parts) {
  const [lib] = fs.globSync?.(at("py/lib/python3.*")) ?? fs.readdirSync(at("py/lib")).map((name) => at("py/lib", name));
  return path.join(lib, "site-packages/mcp_run_python/deno", ...parts);
}

// What mcp-run-python takes from a registry other than npm, in the few lines of it that it uses.
function importMap() {
  const stub = at("parse-args.js");
  fs.writeFileSync(
    stub,
    `export const parseArgs = (args) => Object.fromEntries([["_", args.filter((it) => !it.startsWith("--"))],
      ...args.filter((it) => it.startsWith("--")).map((it) => it.slice(2).split("=")).map(([name, value]) => [name, value ?? true])]);`,
  );
  const map = at("import-map.json");
  // The versions that it was published with.
  const locked = Object.keys(JSON.parse(fs.readFileSync(deno("deno.lock"), "utf8")).npm);
  const version = (name) => locked.find((it) => it.startsWith(`${name}@`)).slice(name.length + 1).split("_")[0];
  const sdk = `@modelcontextprotocol/sdk@${version("@modelcontextprotocol/sdk")}`;
  const imports = {
    "@std/cli/parse-args": stub,
    "@modelcontextprotocol/sdk/": `npm:/${sdk}/`,
    pyodide: `npm:pyodide@${version("pyodide")}`,
    zod: `npm:zod@${version("zod")}`,
  };
  fs.writeFileSync(map, JSON.stringify({ imports }));
  return map;
}

class Original {
  constructor([program, args, env]) {
    this.temporary = fs.mkdtempSync(path.join(os.tmpdir(), "original-"));
    const all = { ...process.env, TMPDIR: this.temporary, NO_UPDATE_NOTIFIER: "1", ...env };
    this.child = spawn(program, args, { cwd: this.temporary, env: all, stdio: ["pipe", "pipe", "ignore"] });
    this.waiting = new Map();
    let rest = "";
    this.child.stdout.on("data", (data) => {
      const lines = (rest + data).split("\n");
      rest = lines.pop();
      lines.forEach((line) => this.hear(line));
    });
    this.child.on("exit", () => this.waiting.forEach((hear) => hear({ died: true })));
    this.next = 0;
  }
  hear(line) {
    try {
      const message = JSON.parse(line);
      if (this.waiting.has(message.id)) this.waiting.get(message.id)(message);
    } catch {
      // Some print logs there.
    }
  }
  send(message) {
    this.child.stdin.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\n");
  }
  ask(request) {
    const id = ++this.next;
    return new Promise((resolve) => {
      const silent = setTimeout(() => resolve({ silent: true }), 30_000);
      this.waiting.set(id, (message) => {
        clearTimeout(silent);
        this.waiting.delete(id);
        resolve(message);
      });
      this.send({ id, ...request });
    });
  }
  plain(reply) {
    const { jsonrpc: _, id: __, ...rest } = reply;
    const text = JSON.stringify(rest).replaceAll(this.temporary, "<tmp>");
    return JSON.parse(text, (key, value) => (["description", "instructions"].includes(key) ? undefined : value));
  }
  stop() {
    this.child.kill("SIGKILL");
    fs.rmSync(this.temporary, { recursive: true, force: true });
  }
}

// `@runno/mcp` is on no registry, and the sandbox below it is: what it says of a run, in the form that the contract gives.
async function runno(request) {
  const { runCode } = await import(modules("@runno/sandbox/dist/index.js"));
  const { runtime, code } = request.params.arguments;
  const result = await runCode(runtime, code);
  const text = (text) => ({ type: "text", text });
  switch (result.resultType) {
    case "complete":
      return [`Execution completed with exit code ${result.exitCode}.`, "Following is the TTY output.", result.tty].map(text);
    case "crash":
      return [text(`Execution crashed with error ${result.error.type}: ${result.error.message}.`)];
    default:
      return [text(result.resultType)];
  }
}

async function record(profile, { original, requests }) {
  const start = STARTED[profile];
  const server = start && new Original(start());
  const entries = [];
  for (const { name, reply, sandbox, ...request } of requests) {
    let heard = reply;
    if (sandbox) heard = { result: { content: await runno(request) } };
    else if (!reply) heard = server.plain(await server.ask(request));
    if (request.method === "initialize") server?.send({ method: "notifications/initialized" });
    entries.push({ name, source: reply ? "contract" : "recorded", request, reply: heard });
  }
  server?.stop();
  fs.writeFileSync(path.join(HERE, "recorded", `${profile}.json`), JSON.stringify({ original, entries }, null, 1) + "\n");
  console.log(`${profile}: ${entries.length} entries`);
}

install();
for (const [profile, wanted] of Object.entries(PROFILES)) {
  if (only.length === 0 || only.includes(profile)) await record(profile, wanted);
}
process.exit(0);
