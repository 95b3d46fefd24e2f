// Loaded by a Deno that waits for its program, before it looks for the program. Also by that program's workers, which do not wait: nothing
// does once the mark is gone.
const here = import.meta.dirname;
let waits = true;
try {
  Deno.removeSync(here + '/wait.json');
} catch {
  waits = false;
}
if (waits) {
  // A program in TypeScript is found, loaded and made JavaScript once ahead.
  Deno.writeTextFileSync(here + '/sample.ts', 'export const sample: number = 1;\n');
  await import(here + '/sample.ts');
  Deno.removeSync(here + '/sample.ts');
  Deno.inspect([{ a: 1 }]);
  Deno.stdout.writeSync(new Uint8Array([6]));
  receive();
}

function take(count) {
  const taken = new Uint8Array(count);
  for (let filled = 0; filled < count; ) {
    const more = Deno.stdin.readSync(taken.subarray(filled));
    if (more === null) Deno.exit(1);
    filled += more;
  }
  return taken;
}

function receive() {
  const length = new DataView(take(8).buffer).getBigUint64(0, true);
  const job = JSON.parse(new TextDecoder().decode(take(Number(length))));
  for (const [name, size] of job.files) {
    const folder = name.lastIndexOf('/');
    if (folder > 0) Deno.mkdirSync(name.slice(0, folder), { recursive: true });
    Deno.writeFileSync(name, take(size));
  }
}
