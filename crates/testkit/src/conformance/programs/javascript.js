const fs = require("node:fs");

console.log("ready");
setTimeout(() => {
  for (const line of fs.readFileSync(0, "utf8").trimEnd().split("\n")) console.log(`got ${line}`);
  for (const argument of process.argv.slice(2)) console.log(`arg [${argument}]`);
  console.error("oops");
  process.exitCode = 3;
}, 1000);
