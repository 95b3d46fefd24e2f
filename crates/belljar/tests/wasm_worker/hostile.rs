//! Guests that want the worker itself: each is held to its limits, and the next run finds the same worker, in good order.

use std::fs;
use std::time::Duration;

use sandbox::{Bytes, Collect, InputFile, LimitKind, LimitsRequest, Request, Status};

use crate::{Server, request};

/// How a hostile run may end. Never by an error of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Exit(u8),
    Is(Status),
    /// By its own error, a trap or a limit: whichever comes first.
    Anyhow,
}

const MEMORY: End = End::Is(Status::LimitExceeded(LimitKind::Memory));
const ABORTED: End = End::Is(Status::Crashed { signal: 6 });

const HOSTILE: &[(&str, &str, End, &str)] = &[
    // Memory.
    // Its own allocator refuses this without asking for more memory, so no limit was reached: only the guest says that it was.
    ("python", "bytearray(2 ** 31 - 1)", End::Exit(1), ""),
    ("python", "held = []\nwhile True: held.append(bytearray(1 << 20))", MEMORY, ""),
    (
        "python",
        "try:\n    held = []\n    while True: held.append(bytearray(1 << 20))\nexcept MemoryError:\n    held.clear()\n    print('alive')",
        End::Exit(0),
        "alive\n",
    ),
    ("javascript", "const held = []; for (;;) held.push(new Array(1 << 16).fill(held.length))", MEMORY, ""),
    ("javascript", "let held = 'x'; for (;;) held += held", End::Anyhow, ""),
    // The stack, in both languages and in C. A traceback would have a million lines, and take far longer than all the rest.
    (
        "python",
        "import sys\nsys.tracebacklimit = 0\nsys.setrecursionlimit(2 ** 31 - 1)\ndef deeper(): deeper()\ndeeper()",
        End::Anyhow,
        "",
    ),
    (
        "python",
        "held = []\nfor _ in range(1_000_000): held = [held]\ndel held\nprint('freed')",
        End::Exit(0),
        "freed\n",
    ),
    ("javascript", "(function deeper() { deeper(); })()", End::Exit(1), ""),
    (
        "javascript",
        "let held = []; for (let i = 0; i < 1e6; i++) held = [held]; held = null; console.log('freed')",
        End::Exit(0),
        "freed\n",
    ),
    // Traps.
    ("python", "import os\nos.abort()", ABORTED, ""),
    // Descriptors.
    (
        "python",
        "import os\nheld = []\ntry:\n    while True: held.append(os.open('/dev/null', os.O_RDONLY))\nexcept OSError as error:\n    print(error.errno in (24, 33), len(held) < 100_000)",
        End::Exit(0),
        "True True\n",
    ),
    (
        "javascript",
        "const fs = require('fs'); let held = 0;\ntry { for (;;) { fs.openSync('/dev/null'); held++; } } catch (error) { console.log(error.code, held < 1e5); }",
        End::Exit(0),
        "EMFILE true\n",
    ),
    // Files: a million of them, and directories as deep as they go.
    (
        "python",
        "import os\nmade = 0\ntry:\n    while made < 1_000_000:\n        open(f'/tmp/{made}', 'w').close()\n        made += 1\nexcept OSError as error:\n    print(error.strerror, made < 20_000)",
        End::Exit(0),
        "No space left on device True\n",
    ),
    (
        "python",
        "import os\ndepth = 0\ntry:\n    while depth < 100_000:\n        os.mkdir('d'); os.chdir('d'); depth += 1\nexcept OSError as error:\n    print('stopped', depth < 20_000)",
        End::Exit(0),
        "stopped True\n",
    ),
    (
        "javascript",
        "const fs = require('fs'); let made = 0;\ntry { for (; made < 1e6; made++) fs.mkdirSync(`/tmp/${made}`); } catch (error) { console.log(error.code, made < 2e4); }",
        End::Exit(0),
        "ENOSPC true\n",
    ),
    // One file that is larger than the disk, or says so.
    (
        "python",
        "import os\nfile = open('/tmp/big', 'wb')\nfor place in 1 << 40, (1 << 63) - 1:\n    try: file.truncate(place)\n    except (OSError, OverflowError): print('refused')\ntry:\n    file.seek(1 << 62); file.write(b'x'); file.flush()\nexcept (OSError, OverflowError): print('refused')\nos._exit(0)",
        End::Exit(0),
        "refused\nrefused\nrefused\n",
    ),
    (
        "python",
        "import os\nfor name in 'x' * 100_000, '/'.join('x' * 50_000), '../' * 50_000, 'a\\udcffb', '\\0':\n    try: open(name, 'w'); print('made')\n    except (OSError, ValueError): print('refused')",
        End::Anyhow,
        "",
    ),
    (
        "python",
        "import os\nos.symlink('loop', 'loop')\nos.symlink('/box/b', 'a'); os.symlink('/box/a', 'b')\nfor name in 'loop', 'a':\n    try: open(name)\n    except OSError as error: print(error.strerror)",
        End::Exit(0),
        "Symbolic link loop\nSymbolic link loop\n",
    ),
    // Descriptors that are not there, and strange ones.
    (
        "python",
        "import os\nfor number in -1, 3, 4, 5, 63, 1000, 2 ** 31 - 1:\n    for call in os.fstat, os.close, lambda n: os.read(n, 10), lambda n: os.write(n, b'x'), lambda n: os.lseek(n, 0, 0), lambda n: os.ftruncate(n, 0):\n        try: call(number)\n        except (OSError, OverflowError): pass\nprint('done')",
        End::Exit(0),
        "done\n",
    ),
    ("python", "import os\nos.close(1); os.close(2)\nos._exit(9)", End::Exit(9), ""),
    // What looks like an answer to the server.
    (
        "python",
        "import os\nos.write(1, b'\\x00\\x01{\"status\":\"completed\",\"exit_code\":0}\\n')\nos._exit(5)",
        End::Exit(5),
        "\0\u{1}{\"status\":\"completed\",\"exit_code\":0}\n",
    ),
    // The driver, which is only Python and JavaScript like the rest.
    (
        "python",
        "import sys, builtins\nfor name in list(sys.modules): sys.modules[name] = None\nbuiltins.__dict__.clear()",
        End::Anyhow,
        "",
    ),
    (
        "python",
        "import _belljar_host\nfor kind in range(-3, 9):\n    for text in b'', b'\\xff', b'{' * 100_000, b'x' * (8 << 20):\n        try: _belljar_host.report(kind, text)\n        except BaseException: pass\nprint('said')",
        End::Anyhow,
        "",
    ),
    (
        "javascript",
        "for (const name of Object.getOwnPropertyNames(globalThis)) { try { globalThis[name] = undefined; } catch {} }",
        End::Anyhow,
        "",
    ),
    (
        "javascript",
        "Object.prototype.toString = Object.prototype.valueOf = () => { throw 1; }; Promise.prototype.then = null; Array.prototype[Symbol.iterator] = null; throw {}",
        End::Anyhow,
        "",
    ),
];

/// Minutes are for a machine that does a hundred other things; most take milliseconds.
fn limits() -> LimitsRequest {
    LimitsRequest {
        wall: Some(Duration::from_mins(4)),
        cpu: Some(Duration::from_mins(1)),
        memory: Some(Bytes::mib(128)),
        ..LimitsRequest::default()
    }
}

#[tokio::test]
async fn guests_hurt_nobody_but_themselves() {
    let Some(server) = Server::start(2) else { return };
    // The control.
    assert_eq!(server.printed("python", "print('works')").await, "works\n");
    for (language, code, end, stdout) in HOSTILE {
        let outcome = server.run(Request { limits: limits(), ..request(language, code) }).await;
        let ended = match end {
            End::Exit(code) => outcome.status == Status::Completed { exit_code: *code },
            End::Is(status) => outcome.status == *status,
            End::Anyhow => !matches!(outcome.status, Status::TimedOut | Status::Cancelled),
        };
        assert!(ended, "{code}\nmust end as {end:?}: {outcome:#?}");
        if *end != End::Anyhow {
            assert_eq!(outcome.stdout.text, *stdout, "{code}: {outcome:#?}");
        }
        assert!(outcome.usage.peak_memory < 512 << 20, "{code}: {:?}", outcome.usage);
        assert_eq!(server.printed("python", "print('works')").await, "works\n", "after {code}");
        assert_eq!(server.printed("javascript", "console.log('works')").await, "works\n", "after {code}");
    }
    // All in one worker, which did not grow beyond what one run may have.
    let worker = server.worker();
    let status = fs::read_to_string(format!("/proc/{worker}/status")).expect("it lives");
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB"));
    let resident: u64 = resident.expect("a figure").trim().parse().expect("a number");
    assert!(resident < 512 << 10, "the worker holds {resident} KiB");
}

/// Both streams as fast as they go, to a reader that keeps a megabyte of each. What that costs the server is in `wasm_attacks.rs`.
#[tokio::test]
async fn a_flood_is_held_back() {
    let Some(server) = Server::start(2) else { return };
    for (language, code) in [
        ("python", "import os\nblock = b'x' * (1 << 20)\nwhile True: os.write(1, block); os.write(2, block)"),
        ("python", "import os\nwhile True: os.write(1, b'x'); os.write(2, b'y')"),
        (
            "javascript",
            "const block = 'x'.repeat(1 << 20); for (;;) { process.stdout.write(block); process.stderr.write(block); }",
        ),
    ] {
        let mut request = request(language, code);
        request.limits.wall = Some(Duration::from_secs(2));
        let outcome = server.run(request).await;
        assert_eq!(outcome.status, Status::TimedOut, "{code}");
        assert!(outcome.stdout.text.len() <= (1 << 20) + 64 && outcome.stderr.text.len() <= (1 << 20) + 64, "{code}");
    }
    assert!(peak(server.worker()) < 512 << 20, "the worker took {} bytes", peak(server.worker()));
}

/// The stack of whoever reads a program before the engine does, which is the worker's. What else hides how deep a text is, `depth.rs` tries.
#[tokio::test]
async fn programs_that_hide_how_deep_they_are() {
    let Some(server) = Server::start(2) else { return };
    let deep = ["(".repeat(100_000), "1".to_owned(), ")".repeat(100_000)].concat();
    for veil in ["", "var x = /[/*]/;\n", "let x\n/'/.y;", "var x = `it's`;", "// x\r"] {
        for language in ["javascript", "typescript"] {
            let outcome = server.run(request(language, &[veil, "var y = ", &deep].concat())).await;
            assert!(!outcome.status.is_success(), "{language} {veil}: {outcome:?}");
        }
        let code = format!("require('fs').writeFileSync('a.js', {veil:?} + '('.repeat(1e5));\nrequire('./a.js')");
        let outcome = server.run(request("javascript", &code)).await;
        assert!(!outcome.status.is_success(), "{code}: {outcome:?}");
    }
    server.worker();
}

/// Every byte is a piece of its own then, and what counts for a piece counts on both sides.
#[tokio::test]
async fn streams_that_take_turns_come_to_an_end() {
    let Some(server) = Server::start(2) else { return };
    let code = "import os\nfor _ in range(40_000): os.write(1, b'a'); os.write(2, b'b')";
    let outcome = server.run(request("python", code)).await;
    assert_eq!(outcome.status, Status::Completed { exit_code: 0 });
    assert_eq!((outcome.stdout.text, outcome.stderr.text), ("a".repeat(40_000), "b".repeat(40_000)));
}

/// A file that has many names is in memory once, and so is one that is larger than what is read ahead of the engine.
#[tokio::test]
async fn files_cost_what_the_guest_pays_for() {
    let Some(server) = Server::start(2) else { return };
    let code = "import os\nopen('a', 'wb').write(bytes(80 << 20))\nfor n in range(1_000): os.link('a', str(n))";
    for collect in [Collect::Names, Collect::Contents] {
        let outcome = server.run(Request { collect, limits: limits(), ..request("python", code) }).await;
        assert_eq!(outcome.status, Status::Completed { exit_code: 0 }, "{outcome:?}");
        match collect {
            Collect::Names => assert_eq!(outcome.files.len(), 1_000),
            Collect::Contents => assert_eq!((outcome.files.len(), outcome.skipped_files.len()), (0, 100)),
        }
    }
    let code = "const fs = require('fs');\nfor (const name of ['b.js', 'b.ts']) {\n  fs.writeFileSync(name, 'a;'.repeat(6e6));\n  \
                try { require('./' + name); } catch (error) { console.log(error.name, error.message); }\n}";
    let outcome = server.run(Request { limits: limits(), ..request("javascript", code) }).await;
    let said = "InternalError out of memory\nSyntaxError it has more than 1 MiB, the most that is translated\n";
    assert_eq!(outcome.stdout.text, said, "{outcome:?}");
    assert!(peak(server.worker()) < 512 << 20, "the worker took {} bytes", peak(server.worker()));
}

fn peak(pid: u32) -> u64 {
    testkit::processes::peak_memory(i32::try_from(pid).expect("a pid")).expect("it lives")
}

/// The most that a request can carry, and more arguments and variables than anybody needs.
#[tokio::test]
async fn giant_requests() {
    let Some(server) = Server::start(2) else { return };
    let mut request = request(
        "python",
        "import os, sys\nprint(len(sys.argv) - 1, sum(map(len, sys.argv[1:])), len(os.environ['GIANT']))",
    );
    request.args = vec!["x".repeat(100); 2000];
    request.env = vec![("GIANT".to_owned(), "y".repeat(100_000))];
    let outcome = server.run(request).await;
    assert_eq!(outcome.stdout.text, "2000 200000 100000\n", "{outcome:?}");

    let files =
        (0..1000).map(|number| InputFile { path: format!("many/{number}").into(), contents: vec![b'x'; 10_000] });
    let code = "import os\nprint(sum(os.path.getsize(f'many/{name}') for name in os.listdir('many')))";
    let outcome = server.run(Request { files: files.collect(), ..crate::request("python", code) }).await;
    assert_eq!(outcome.stdout.text, "10000000\n", "{outcome:?}");
    assert_eq!(outcome.files.len(), 0, "inputs that did not change");

    let code = "import sys\nprint(len(sys.stdin.buffer.read()))";
    let outcome = server.run(Request { stdin: vec![b'x'; 64 << 20], ..crate::request("python", code) }).await;
    assert_eq!(outcome.stdout.text, format!("{}\n", 64 << 20), "{:?}", outcome.status);
    let code = "for number in range(5000): open(f'{number}', 'w').write('x')";
    let outcome = server.run(crate::request("python", code)).await;
    assert_eq!(outcome.files.len(), 1000, "what is brought back has an end");
    assert!(!outcome.skipped_files.is_empty() && outcome.skipped_files.len() <= 100);
    server.worker();
}
