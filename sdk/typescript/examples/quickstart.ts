import { Belljar } from "belljar";

await using belljar = await Belljar.start();

// A program in a sandbox of its own. However it ends, that is a result.
const run = await belljar.run("print(sum(range(10))); 1 / 0", { language: "python", timeoutMs: 5_000 });
console.log(run.stdout.trim(), run.exitCode, run.error?.kind);

// A session remembers variables, imports and files.
await using session = belljar.session("analysis");
await session.writeFile("prices.csv", "day,price\n1,10\n2,12\n");
await session.run("import csv; rows = list(csv.DictReader(open('prices.csv')))", { language: "python" });
const total = await session.run("sum(int(row['price']) for row in rows)", { language: "python" });
console.log(total.result);

// Output as it comes.
for await (const event of belljar.stream("for n in 1 2 3; do echo $n; sleep 0.3; done", { language: "bash" })) {
  if (event.type === "output") process.stdout.write(event.text);
}
