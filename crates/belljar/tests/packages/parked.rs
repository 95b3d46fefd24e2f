//! Interpreters that wait for their program: but for the time that it takes, a program cannot tell.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::processes;

use crate::client::Client;
use crate::printed;
use crate::site::Site;

/// Everything of a result that a program decides.
fn told(result: &Value) -> Value {
    let mut told = result["structuredContent"].clone();
    let told_of = told.as_object_mut().unwrap_or_else(|| panic!("no result in {result:#}"));
    for name in ["usage", "packages", "isolation", "run"] {
        told_of.remove(name);
    }
    // Each run's files have addresses of their own.
    for file in told["files"].as_array_mut().into_iter().flatten() {
        file["uri"].take();
    }
    told
}

/// A program that has an environment of its own is started for that. The others are, from the second on, given to one that waits.
#[track_caller]
fn assert_the_same(client: &mut Client, given: &Value) {
    let mut arguments = json!({"language": "python", "engine": "native"});
    for (name, value) in given.as_object().expect("arguments") {
        arguments[name] = value.clone();
    }
    let mut cold = arguments.clone();
    cold["env"] = json!({"ONLY_HERE": "1"});
    let expected = told(&client.run(&cold));
    for time in 1..=3 {
        // One that waits needs a moment to be there.
        thread::sleep(Duration::from_millis(60));
        assert_eq!(told(&client.run(&arguments)), expected, "time {time} of {arguments:#}");
    }
}

#[test]
fn a_program_finds_what_it_always_finds() {
    let mut client = Client::initialized();
    for arguments in [
        json!({"code": "import sys\nprint(sys.argv, sys.path, sys.flags, sys.orig_argv, __name__, __file__, sorted(globals()))", "args": ["a", "b c"]}),
        json!({"code": "import __main__, sys\nprint(sys.modules['__main__'] is __main__, __main__.__spec__, sorted(vars(__main__)))"}),
        json!({"code": "import sys\nprint(repr(sys.stdin.read()))", "stdin": "hé\nllo"}),
        json!({"code": "import sys\nprint(repr(sys.stdin.read()))"}),
        json!({"code": "import sys\nprint(len(sys.stdin.buffer.read()))", "stdin": "x".repeat(500_000)}),
        json!({"code": "print(1)", "stdin": "x".repeat(500_000)}),
        json!({"code": "import os\nprint(sorted(os.listdir('/proc/self/fd')), os.getpid(), os.getppid(), os.getcwd(), oct(os.umask(0)))"}),
        json!({
            "code": "import os\nfor folder, _, names in sorted(os.walk('.')):\n    for name in sorted(names):\n        found = os.stat(os.path.join(folder, name))\n        print(folder, name, oct(found.st_mode), found.st_uid, found.st_size)",
            "files": [{"path": "a/b/ü.txt", "text": "hi"}, {"path": "bytes", "base64": "AP/+"}],
        }),
        json!({"code": "open('made', 'w').write('x')\nopen('given', 'a').write('y')", "files": [{"path": "given", "text": "x"}]}),
        json!({"code": "import multiprocessing as m\ndef f(x): return x * x\nif __name__ == '__main__':\n    m.set_start_method('spawn')\n    with m.Pool(2) as pool: print(pool.map(f, [1, 2, 3]))"}),
        json!({"code": "import subprocess, sys\nprint(subprocess.run([sys.executable, '-c', 'import sys; print(sys.path, sys.argv)'], capture_output=True, text=True))"}),
        json!({"code": "import threading\nthread = threading.Thread(target=print, args=('t',))\nthread.start()\nthread.join()\nprint(threading.active_count())"}),
    ] {
        assert_the_same(&mut client, &arguments);
    }
}

#[test]
fn it_ends_as_it_always_ends() {
    let mut client = Client::initialized();
    for code in [
        "def f(): 1 / 0\nf()",
        "import sys\nsys.exit('bye')",
        "raise SystemExit(7)",
        "print(1\n",
        "import os\nos.abort()",
        "import atexit\natexit.register(print, 'end')",
        "import inspect\ndef f(): pass\nprint(inspect.getsource(f), inspect.stack()[1:])",
        "x = []\nwhile True: x.append(bytearray(1 << 20))",
    ] {
        assert_the_same(&mut client, &json!({ "code": code }));
    }
    assert_the_same(&mut client, &json!({"code": "print('so far', flush=True)\nwhile True: pass", "timeout_ms": 4000}));
}

#[test]
fn other_languages_wait_too() {
    let mut client = Client::initialized();
    for arguments in [
        json!({"language": "javascript", "code": "console.log(process.argv.slice(2), module.children.length, Object.keys(require.cache))", "args": ["a"]}),
        json!({"language": "javascript", "code": "console.log(require('fs').readFileSync(0, 'utf8'), process.env.NODE_OPTIONS)", "stdin": "hé\nllo"}),
        json!({"language": "javascript", "code": "process.on('exit', code => console.log('end', code))\nprocess.exitCode = 3"}),
        json!({"language": "javascript", "code": "setTimeout(() => { throw new Error('late') }, 20)"}),
        json!({"language": "javascript", "code": "new (require('worker_threads').Worker)('console.log(1)', {eval: true})"}),
        json!({"language": "typescript", "code": "const x: number = 1\nconsole.log(x, Deno.args, import.meta.main, [...Deno.readDirSync('.')].map(e => e.name))"}),
        json!({"language": "typescript", "code": "console.log(Deno.args)", "args": ["a"]}),
        json!({"language": "typescript", "code": "console.log(await new Response(Deno.stdin.readable).text())", "stdin": "hé\nllo"}),
        json!({"language": "typescript", "code": "import { y } from './lib/y.ts'\nconsole.log(y)", "files": [{"path": "lib/y.ts", "text": "export const y: string = 'y'"}]}),
        json!({"language": "typescript", "code": "globalThis.addEventListener('unload', () => console.log('end'))\nDeno.exit(3)"}),
        json!({"language": "typescript", "code": "setTimeout(() => { throw new Error('late') }, 20)"}),
        json!({"language": "typescript", "code": "const w = new Worker('data:text/javascript,postMessage(1)', {type: 'module'})\nw.onmessage = e => { console.log(e.data); w.terminate() }"}),
    ] {
        assert_the_same(&mut client, &arguments);
    }
}

/// Signals and stops are those of the program, though its supervisor sees them first.
#[test]
fn signals_are_the_programs() {
    let mut client = Client::initialized();
    for code in [
        "import os, signal\nsignal.signal(signal.SIGUSR1, lambda *_: print('heard'))\nfor _ in range(100): os.kill(os.getpid(), signal.SIGUSR1)",
        "import os, signal\nos.kill(os.getpid(), signal.SIGTERM)",
        // Its child lets it go on once it is stopped, and again: a tracer stops it for moments too.
        "import os, signal, time\nme = os.getpid()\nchild = os.fork()\nif child == 0:\n    while open(f'/proc/{me}/stat').read().rsplit(') ')[-1][0] not in 'Tt': time.sleep(0.01)\n    while True:\n        os.kill(me, signal.SIGCONT)\n        time.sleep(0.05)\nos.kill(me, signal.SIGSTOP)\nos.kill(child, signal.SIGKILL)\nos.wait()\nprint('on')",
        "import signal, time\nsignal.signal(signal.SIGALRM, lambda *_: None)\nsignal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)\nend = time.monotonic() + 0.2\nwhile time.monotonic() < end: pass\nprint('done')",
        "import threading, os, time\nthreading.Thread(target=lambda: (time.sleep(0.1), os._exit(5))).start()\ntime.sleep(5)",
        "import ctypes, threading, time\nthreading.Thread(target=lambda: (time.sleep(0.2), print('after', flush=True))).start()\nctypes.CDLL(None).pthread_exit(None)",
        "import os\nif os.fork() == 0:\n    os.setsid()\n    while True: pass",
    ] {
        assert_the_same(&mut client, &json!({ "code": code, "timeout_ms": 30_000 }));
    }
}

/// Everything that programs count on when they end: handlers, threads, files that were left open, what `__del__` finds, exit codes.
#[test]
fn all_endings_are_alike() {
    let programs: std::collections::BTreeMap<String, String> =
        serde_json::from_str(include_str!("endings.json")).expect("names and programs");
    let mut client = Client::initialized();
    let mut different = Vec::new();
    for (name, code) in programs {
        let run = |client: &mut Client, env: Value| {
            let arguments = json!({
                "language": "python", "engine": "native", "code": code, "env": env,
                "args": ["a", "b c"], "stdin": "line one\nline two\n",
            });
            without_addresses(&told(&client.run(&arguments)).to_string())
        };
        let cold = run(&mut client, json!({"ONLY_HERE": "1"}));
        // One that waits needs a moment to be there.
        thread::sleep(Duration::from_millis(100));
        let parked = run(&mut client, json!({}));
        if parked != cold {
            different.push(format!("{name}\n  cold:   {cold}\n  parked: {parked}"));
        }
    }
    assert!(different.is_empty(), "{}", different.join("\n"));
}

/// Where objects are is never the same.
fn without_addresses(text: &str) -> String {
    let mut parts = text.split("0x");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |so_far, part| so_far + "0x" + part.trim_start_matches(|c: char| c.is_ascii_hexdigit()))
}

/// A program's own modules come before those that somebody imported for it.
#[test]
fn its_own_modules_are_its_own() {
    let mut client = Client::initialized();
    for (module, more) in [("json", ""), ("random", "import pandas\n"), ("dateutil", "import pandas\n")] {
        let files = json!([{"path": format!("{module}.py"), "text": "x = 5"}]);
        // First, so that what it would find is there.
        let code = format!("import {module}\nprint({module}.__file__)\n{more}");
        client.run(&json!({"language": "python", "engine": "native", "code": format!("{more}print(1)")}));
        assert_the_same(&mut client, &json!({"code": code, "files": files}));
    }
}

#[test]
fn chance_is_new_each_time() {
    let code = "import random\nimport numpy as np\nimport pandas\nprint(random.random(), np.random.rand(), hash('a'))";
    let mut client = Client::initialized();
    let mut seen = std::collections::HashSet::new();
    for _ in 0..5 {
        let result = client.run(&json!({"language": "python", "engine": "native", "code": code}));
        assert!(seen.insert(printed(&result).to_owned()), "twice: {result:#}");
    }
}

/// Or none of these tests would show anything. The backstop behind the CPU limit is the one thing that tells.
#[test]
fn the_second_one_has_waited() {
    let mut client = Client::initialized();
    for (language, code) in [
        ("python", "print(open('/proc/self/limits').read())"),
        ("javascript", "console.log(require('fs').readFileSync('/proc/self/limits', 'utf8'))"),
        ("typescript", "console.log(Deno.readTextFileSync('/proc/self/limits'))"),
    ] {
        let mut seconds = || -> u64 {
            let result = client.run(&json!({"language": language, "engine": "native", "code": code}));
            let limits = result["structuredContent"]["stdout"].as_str().expect("output");
            let line = limits.lines().find(|line| line.starts_with("Max cpu time")).expect("a limit");
            line.split_whitespace().nth(3).and_then(|soft| soft.parse().ok()).expect("a number")
        };
        let cold = seconds();
        // It takes a moment to be there, on a busy machine a long one.
        let has_waited = |_| {
            thread::sleep(Duration::from_millis(50));
            seconds() > cold
        };
        assert!((0..100).any(has_waited), "{language}: none of a hundred");
    }
}

/// The attacks are in Python. What they show holds for the others, whose walls are the same.
#[test]
fn whoever_waits_is_behind_the_same_walls() {
    let mut client = Client::initialized();
    for (language, code) in [
        (
            "javascript",
            "const { readFileSync: read, readdirSync: list } = require('fs')\n\
             const text = path => { try { return read(path, 'utf8') } catch (error) { return error.code } }\n\
             console.log(text('/proc/self/status').match(/^(Cap|Seccomp|NoNewPrivs).*/gm), text('/proc/net/dev').match(/\\w+:/g), list('/'), text('/etc/shadow'), text('/proc/1/environ'))",
        ),
        (
            "typescript",
            "const text = (path: string) => { try { return Deno.readTextFileSync(path) } catch (error) { return (error as Error).name } }\n\
             console.log(text('/proc/self/status').match(/^(Cap|Seccomp|NoNewPrivs).*/gm), text('/proc/net/dev').match(/\\w+:/g), [...Deno.readDirSync('/')].map(entry => entry.name), text('/etc/shadow'), text('/proc/1/environ'))",
        ),
    ] {
        let arguments = json!({"language": language, "code": code});
        assert_the_same(&mut client, &arguments);
        let result = client.run(&json!({"language": language, "engine": "native", "code": code}));
        let output = result["structuredContent"]["stdout"].as_str().expect("output");
        for wall in ["CapEff:\\t0000000000000000", "CapBnd:\\t0000000000000000", "Seccomp:\\t2", "NoNewPrivs:\\t1"] {
            assert!(output.contains(wall), "{language} without {wall}: {output}");
        }
    }
}

/// What was done ahead is not the program's, neither to use up nor to be charged for.
#[test]
fn limits_count_from_when_the_program_comes() {
    let folder = tempfile::tempdir().expect("a folder");
    let configuration = folder.path().join("belljar.toml");
    std::fs::write(&configuration, "[defaults]\ncpu = '1s'\n").expect("written");
    let mut client = Client::start(&["--config", &configuration.display().to_string()]).greeted();
    for _ in 0..3 {
        let result = client.run(&json!({"language": "python", "engine": "native", "code": "while True: pass"}));
        let content = &result["structuredContent"];
        assert_eq!((&content["status"], &content["limit"]), (&json!("limit_exceeded"), &json!("cpu")), "{result:#}");
        let used = content["usage"]["cpu_ms"].as_f64().expect("a figure");
        assert!((800.0..2000.0).contains(&used), "{result:#}");
    }
}

/// Nobody has a turn for what waits, and what it imports may be anything.
#[test]
fn what_waits_may_have_little() {
    const MARKER: &str = "waits for nothing";
    let fills = format!("import time\nx = b'x' * (600 << 20)\ntime.sleep(600)  # {MARKER}");
    // Before its program comes there is none.
    let library = format!(
        "import os, sys\n\
         if not os.path.exists('/box/main.py'): os.execv(sys.executable, [sys.executable, '-c', {fills:?}])\n"
    );
    let Some(site) = Site::of(0, &json!({"altair": {"altair/__init__.py": library}})) else { return };
    let mut client = Client::of(site.serve()).greeted();
    let result = client.run(&json!({"language": "python", "engine": "native", "code": "import altair\nprint('ran')"}));
    assert_eq!(printed(&result), "ran\n");
    let end = Instant::now() + Duration::from_secs(20);
    while processes::marked(MARKER).is_empty() {
        assert!(Instant::now() < end, "none has waited");
        thread::sleep(Duration::from_millis(1));
    }
    processes::assert_gone(MARKER, processes::GRACE);
}
