import * as fs from "node:fs";

interface Words { got: string[]; args: string[] }

console.log("ready");
setTimeout(() => {
  const words: Words = { got: fs.readFileSync(0, "utf8").trimEnd().split("\n"), args: process.argv.slice(2) };
  for (const line of words.got) console.log(`got ${line}`);
  for (const argument of words.args) console.log(`arg [${argument}]`);
  console.error("oops");
  process.exitCode = 3;
}, 1000);
