//! Programs as people write them: `await` at the top level, event loops, modules, input, and what an error looks like.

use crate::{Run, WASM};

/// The jail has no `/dev/stdin`, so this is not a promise of both engines.
#[test]
fn sql_reads_standard_input() {
    if WASM.serves("sql") {
        let code = "CREATE TABLE words(word TEXT);\n.import /dev/stdin words\nSELECT word FROM words ORDER BY word;\n";
        Run { stdin: "pear\nfig ☃\n", ..Run::wasm("sql", code) }.ran().printed("word \n-----\nfig ☃\npear \n");
    }
}

#[test]
fn await_at_the_top_level() {
    if !WASM.serves("python") {
        return;
    }
    let python = "import asyncio\nasync def later(n):\n    await asyncio.sleep(0.01 * n)\n    print(n)\n    return n\n\
                  print(await asyncio.gather(later(2), later(1)))";
    Run::wasm("python", python).ran().printed("1\n2\n[2, 1]\n");
    let javascript = "const later = (n) => new Promise((done) => setTimeout(() => { console.log(n); done(n); }, 10 * n));\n\
                      console.log(await Promise.all([later(2), later(1)]));";
    Run::wasm("javascript", javascript).ran().printed("1\n2\n[ 2, 1 ]\n");
    let typescript = "const later = async (n: number): Promise<number> => n + 1;\nconsole.log(await later(1));";
    Run::wasm("typescript", typescript).ran().printed("2\n");
}

#[test]
fn asyncio() {
    if !WASM.serves("python") {
        return;
    }
    let code = r"
import asyncio
async def main():
    queue = asyncio.Queue()
    async def produce():
        for n in range(3):
            await asyncio.sleep(0.005)
            await queue.put(n)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(produce())
        print([await queue.get() for _ in range(3)])
    try:
        async with asyncio.timeout(0.02):
            await asyncio.sleep(60)
    except TimeoutError:
        print('too late')
asyncio.run(main())
asyncio.run(main())
";
    Run::wasm("python", code).ran().printed("[0, 1, 2]\ntoo late\n[0, 1, 2]\ntoo late\n");
    // Nobody will ever wake it.
    Run::wasm("python", "import asyncio\nasyncio.run(asyncio.Event().wait())").ran().failed("RuntimeError", Some(2));
}

#[test]
fn timers_and_promises_run_in_order() {
    if !WASM.serves("javascript") {
        return;
    }
    let code = r"
setTimeout(() => console.log('timer 20'), 20);
setTimeout(() => console.log('timer 0'), 0);
const cancelled = setTimeout(() => console.log('never'), 5);
clearTimeout(cancelled);
let count = 0;
const interval = setInterval(() => { console.log('tick'); if (++count === 2) clearInterval(interval); }, 30);
Promise.resolve().then(() => console.log('promise'));
queueMicrotask(() => console.log('microtask'));
process.nextTick(() => console.log('next tick'));
console.log('first');
";
    let expected = "first\nnext tick\npromise\nmicrotask\ntimer 0\ntimer 20\ntick\ntick\n";
    Run::wasm("javascript", code).ran().printed(expected);
}

#[test]
fn modules() {
    if !WASM.serves("python") {
        return;
    }
    let files = &[
        ("double.mjs", "export const double = (n) => 2 * n;\nexport default 'default';\n"),
        ("lib/triple.cjs", "module.exports = (n) => 3 * n;\n"),
        ("basket.json", "{\"total\": 4}"),
        ("typed.ts", "export const typed = (n: number): number => n;\n"),
    ];
    let esm = "import fs, { readFileSync } from 'node:fs';\nimport fallback, { double } from './double.mjs';\n\
               export const here = 1;\n\
               console.log(double(21), fallback, fs.readFileSync === readFileSync, (await import('./double.mjs')).double(1));";
    Run { files, ..Run::wasm("javascript", esm) }.ran().printed("42 default true 2\n");
    let cjs = "console.log(require('./lib/triple.cjs')(2), require('./basket.json').total, require('path').join('a', '..', 'b'));";
    Run { files, ..Run::wasm("javascript", cjs) }.ran().printed("6 4 b\n");
    let typed = "import { typed } from './typed.ts';\nconst n: number = typed(5);\nconsole.log(n);";
    Run { files, ..Run::wasm("typescript", typed) }.ran().printed("5\n");

    let files = &[("shop/__init__.py", ""), ("shop/basket.py", "def total():\n    return __name__\n")];
    let python = "from shop.basket import total\nprint(total(), __name__, __file__)";
    Run { files, ..Run::wasm("python", python) }.ran().printed("shop.basket __main__ /box/main.py\n");
}

#[test]
fn input() {
    if !WASM.serves("python") {
        return;
    }
    let asks = "name = input('who? ')\nprint(f'hi {name}')\nimport sys\nprint(repr(sys.stdin.read()))";
    Run { stdin: "ada\nmore\n", ..Run::wasm("python", asks) }.ran().printed("who? hi ada\n'more\\n'\n");
    let lines = "import sys\nprint([line.strip() for line in sys.stdin])";
    Run { stdin: "a\nb", ..Run::wasm("python", lines) }.ran().printed("['a', 'b']\n");
    // W6: no input is the end of input, never a wait.
    Run::wasm("python", "print('before')\ninput()").ran().failed("EOFError", Some(2));

    let lines = "const lines = require('readline').createInterface({ input: process.stdin });\n\
                 for await (const line of lines) console.log(`[${line}]`);";
    Run { stdin: "a\nb", ..Run::wasm("javascript", lines) }.ran().printed("[a]\n[b]\n");
    let events = "let all = '';\nprocess.stdin.on('data', (part) => { all += part; });\n\
                  process.stdin.on('end', () => console.log(JSON.stringify(all)));";
    Run { stdin: "a\nb", ..Run::wasm("javascript", events) }.ran().printed("\"a\\nb\"\n");
    Run::wasm("javascript", events).ran().printed("\"\"\n");
}

/// The whole of standard error: nothing of our own is in it.
/// Each write is one of a part, whatever is in the file by then.
#[test]
fn streams_to_files_and_from_them() {
    if WASM.serves("javascript") {
        let code = r"
const fs = require('fs');
const out = fs.createWriteStream('out.csv');
for (let i = 0; i < 60000; i++) out.write(`${i},`.padEnd(49, 'x') + '\n');
out.end(() => {
  const file = fs.openSync('out.csv', 'r+');
  fs.writeSync(file, Buffer.from('HELLO'), 0, 5, 50 * 59999);
  fs.writeSync(file, 'tail', 3000002);
  const part = Buffer.alloc(10);
  console.log(fs.readSync(file, part, 0, 10, 50 * 59999), part.toString());
  console.log(fs.readSync(file, part, 0, 10, 3000000), part.subarray(0, 6));
  console.log(fs.readSync(file, part, 0, 10, 4000000));
  fs.closeSync(file);
  let bytes = 0;
  fs.createReadStream('out.csv', { highWaterMark: 500 }).on('data', (chunk) => { bytes += chunk.length; }).on('end', () => console.log(bytes));
});
";
        let expected = "10 HELLO,xxxx\n6 <Buffer 00 00 74 61 69 6c>\n0\n3000006\n";
        Run::wasm("javascript", code).options(&["--timeout", "30s"]).ran().printed(expected);
    }
}

/// Reading all of a device that never ends takes more memory than there is, as in Node.
#[test]
fn devices_of_javascript() {
    if WASM.serves("javascript") {
        let code = r"
const fs = require('fs');
fs.writeFileSync('/dev/null', 'gone');
fs.appendFileSync('/dev/null', 'gone');
fs.copyFileSync('main.js', '/dev/null');
const none = fs.openSync('/dev/null', 'w+');
console.log(fs.writeSync(none, 'gone'), fs.readSync(none, Buffer.alloc(3)), fs.readFileSync('/dev/null').length);
const random = fs.openSync('/dev/urandom');
const bytes = Buffer.alloc(3 << 20);
console.log(fs.readSync(random, bytes), bytes.subarray(-16).some((byte) => byte !== 0));
console.log(fs.readSync(fs.openSync('/dev/zero'), bytes), bytes.subarray(-16).every((byte) => byte === 0));
try {
  fs.readFileSync('/dev/zero');
} catch (error) {
  console.log(error.message);
}
";
        let expected = "4 0 0\n3145728 true\n3145728 true\nout of memory\n";
        Run::wasm("javascript", code).ran().printed(expected);
    }
}

#[test]
fn tracebacks_of_python() {
    if !WASM.serves("python") {
        return;
    }
    let nested = "def pick(numbers):\n    return numbers[7]\n\n\npick([1])\n";
    let ran = Run::wasm("python", nested).ran().failed("IndexError", Some(2));
    let expected = "Traceback (most recent call last):\n  File \"/box/main.py\", line 5, in <module>\n    pick([1])\n    ~~~~^^^^^\n  \
                    File \"/box/main.py\", line 2, in pick\n    return numbers[7]\n           ~~~~~~~^^^\nIndexError: list index out of range\n";
    assert_eq!(ran.text("stderr"), expected);

    let chained = "try:\n    1 / 0\nexcept ZeroDivisionError as error:\n    raise ValueError('no') from error\n";
    let ran = Run::wasm("python", chained).ran().failed("ValueError", Some(4));
    let expected = "Traceback (most recent call last):\n  File \"/box/main.py\", line 2, in <module>\n    1 / 0\n    ~~^~~\n\
                    ZeroDivisionError: division by zero\n\n\
                    The above exception was the direct cause of the following exception:\n\n\
                    Traceback (most recent call last):\n  File \"/box/main.py\", line 4, in <module>\n    \
                    raise ValueError('no') from error\nValueError: no\n";
    assert_eq!(ran.text("stderr"), expected);

    let awaited = "async def fail():\n    raise KeyError('basket')\n\nawait fail()\n";
    let ran = Run::wasm("python", awaited).ran().failed("KeyError", Some(2));
    let expected = "Traceback (most recent call last):\n  File \"/box/main.py\", line 4, in <module>\n    await fail()\n  \
                    File \"/box/main.py\", line 2, in fail\n    raise KeyError('basket')\nKeyError: 'basket'\n";
    assert_eq!(ran.text("stderr"), expected);

    let broken = "print('unreached')\nx = = 1\n";
    let ran = Run::wasm("python", broken).ran().failed("SyntaxError", Some(2));
    let expected = "  File \"/box/main.py\", line 2\n    x = = 1\n        ^\nSyntaxError: invalid syntax\n";
    assert_eq!(ran.text("stderr"), expected);

    // In another file the program's own line is where it was called from.
    let files = &[("basket.py", "def total():\n    raise RuntimeError('empty')\n")];
    let ran = Run { files, ..Run::wasm("python", "import basket\n\nbasket.total()\n") }.ran();
    assert_eq!(ran.failed("RuntimeError", Some(3)).result["error"]["message"], "empty");

    let ran = Run::wasm("python", "import sys\nsys.exit('that is all')").ran().exited(1);
    assert_eq!(ran.text("stderr"), "that is all\n");
    Run::wasm("python", "import sys\nsys.exit(3)").ran().exited(3);
    Run::wasm("python", "raise SystemExit(None)").ran().exited(0);
}

#[test]
fn stacks_of_javascript() {
    if !WASM.serves("javascript") {
        return;
    }
    let nested = "function pick() {\n  throw new TypeError('no');\n}\n\npick();\n";
    let ran = Run::wasm("javascript", nested).ran().failed("TypeError", Some(2));
    let stderr = ran.text("stderr");
    assert!(stderr.starts_with("/box/main.js:2\n  throw new TypeError('no');\n"), "{stderr}");
    let stack: Vec<&str> = stderr.lines().filter(|line| line.trim_start().starts_with("at ")).collect();
    assert_eq!(stack.len(), 2, "frames of ours, or none of its own: {stderr}");
    assert!(stack[0].contains("at pick (/box/main.js:2:"), "{stderr}");
    assert!(stack[1].contains("(/box/main.js:5:1)"), "{stderr}");

    // A type takes its place in the text, not in the line numbers.
    let typed = "interface Basket {\n  total: number;\n}\n\nfunction pick(basket: Basket): never {\n  throw new Error('no');\n}\n\npick({ total: 1 });\n";
    let ran = Run::wasm("typescript", typed).ran().failed("Error", Some(6));
    assert!(ran.text("stderr").contains("/box/main.ts:6"), "{}", ran.text("stderr"));

    let rejected = "async function pick() {\n  throw new RangeError('late');\n}\n\npick();\n";
    Run::wasm("javascript", rejected).ran().failed("RangeError", Some(2));
    Run::wasm("javascript", "throw 'text'").ran().exited(1);
    Run::wasm("javascript", "process.exitCode = 3").ran().exited(3);
    Run::wasm("javascript", "setTimeout(() => process.exit(4), 1); setInterval(() => {}, 1)").ran().exited(4);
}

/// What the host does for JavaScript it does in pieces, which nobody can see.
#[test]
fn large_texts_of_javascript_are_whole() {
    if WASM.serves("javascript") {
        let code = r#"
            const crypto = require("node:crypto"), fs = require("node:fs");
            const text = "x" + "é€🎉".repeat(300_000), bytes = new TextEncoder().encode(text);
            console.log(bytes.length, new TextDecoder().decode(bytes) === text, Buffer.from(text).equals(bytes));
            const halves = "\ud800€".repeat(400_000), mended = new TextEncoder().encode(halves);
            console.log(new TextDecoder().decode(mended) === "\ufffd€".repeat(400_000), halves.charCodeAt(0) === 0xd800);
            const broken = new Uint8Array(3_000_001).fill(0xe2);
            console.log(new TextDecoder().decode(broken) === "\ufffd".repeat(3_000_001));
            const whole = crypto.createHash("sha256").update(bytes).digest("hex"), parts = crypto.createHash("sha256");
            for (let at = 0; at < bytes.length; at += 99_991) parts.update(bytes.subarray(at, at + 99_991));
            console.log(whole === parts.digest("hex"), whole === crypto.createHash("sha256").update(text).digest("hex"));
            const key = crypto.createHash("md5").update(bytes).digest();
            const hmac = (key) => crypto.createHmac("md5", key).update("data").digest("hex");
            console.log(hmac(bytes) === hmac(key));
            fs.writeFileSync("a", bytes);
            console.log(fs.readFileSync("a").equals(bytes), fs.readFileSync("a", "utf8") === text);
            fs.writeFileSync("none", "");
            console.log(new TextDecoder().decode(new Uint8Array(0)).length + fs.readFileSync("none").length, fs.readFileSync("none", "utf8") === "");
            console.log(Buffer.compare(Buffer.from(fs.readFileSync("a")).subarray(7), Buffer.from(bytes).subarray(7)));
            try { fs.readFileSync("/box") } catch (error) { console.log(error.code) }
            try { fs.readFileSync("gone") } catch (error) { console.log(error.code) }
        "#;
        let expected = "2700001 true true\ntrue true\ntrue\ntrue true\ntrue\ntrue true\n0 true\n0\nEISDIR\nENOENT\n";
        Run::wasm("javascript", code).ran().printed(expected);
    }
}
