//! `auto`: a run that WebAssembly cannot finish is run again natively, one that takes long is run natively too, and the caller sees one.

use testkit::conformance::command::{Answer, answer};

use crate::{NATIVE, Ran, Run, WASM};

/// Also given where the machine is so busy that the wasm run was not over within a second.
const HEDGED: &str = "it was still computing after 1 s";

/// What WebAssembly cannot do: language, code, what it prints natively, and how the reason for the promotion starts.
const BEYOND: &[(&str, &str, &str, &str)] = &[
    (
        "python",
        "import threading\nprint('start')\nthread = threading.Thread(target=print, args=['in it'])\nthread.start()\nthread.join()",
        "start\nin it\n",
        "WebAssembly cannot start threads",
    ),
    (
        "python",
        "from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor(2) as pool:\n    print(list(pool.map(abs, [1, -2])))",
        "[1, 2]\n",
        "WebAssembly cannot start threads",
    ),
    (
        "python",
        "import subprocess\nprint(subprocess.run(['echo', 'hi'], capture_output=True, text=True).stdout)",
        "hi\n\n",
        "WebAssembly cannot start processes",
    ),
    (
        "python",
        "import os\nprint('once')\nchild = os.fork() or os._exit(0)\nos.waitpid(child, 0)",
        "once\n",
        "`os.fork` is not in WebAssembly",
    ),
    (
        "python",
        "import socket\nlistener = socket.socket()\nlistener.bind(('127.0.0.1', 0))\nprint(listener.getsockname()[0])",
        "127.0.0.1\n",
        "WebAssembly has no network",
    ),
    ("python", "import ctypes\nprint(ctypes.sizeof(ctypes.c_int))", "4\n", "`ctypes` is not in the WebAssembly Python"),
    ("python", "import mmap\nprint(len(mmap.mmap(-1, 4096)))", "4096\n", "`mmap` is not in the WebAssembly Python"),
    ("javascript", "console.log(require('child_process').execSync('echo hi').toString())", "hi\n\n", "`child_process"),
    (
        "javascript",
        "const http = require('http'); console.log(typeof http.createServer)",
        "function\n",
        "`http.createServer` is not in the WebAssembly JavaScript",
    ),
    (
        "javascript",
        "fetch('data:,hello').then(answer => answer.text()).then(console.log)",
        "hello\n",
        "`fetch` is not in the WebAssembly JavaScript",
    ),
    ("php", "<?php echo `echo hi`;", "hi\n", "`shell_exec` is not in the WebAssembly PHP"),
    ("php", "<?php echo exec('echo hi'), PHP_EOL;", "hi\n", "`exec` is not in the WebAssembly PHP"),
    (
        "php",
        "<?php echo 'start ';\n$child = proc_open(['echo', 'hi'], [], $pipes);\nproc_close($child);",
        "start hi\n",
        "`proc_open` is not in the WebAssembly PHP",
    ),
    (
        "php",
        "<?php $pid = pcntl_fork();\nif ($pid) { pcntl_wait($status); echo 'parent'; } else { echo 'child '; }",
        "child parent",
        "`pcntl_fork` is not in the WebAssembly PHP",
    ),
    (
        "php",
        "<?php $fiber = new Fiber(function () { echo Fiber::suspend('one'), ' two'; });\necho $fiber->start(), ' ';\n$fiber->resume('and');",
        "one and two",
        "WebAssembly has no fibers",
    ),
    ("php", "<?php echo strlen(gzcompress('')), PHP_EOL;", "8\n", "`gzcompress` is not in the WebAssembly PHP"),
    ("php", "<?php use App\\X;\necho iconv_strlen('é');", "1", "`iconv_strlen` is not in the WebAssembly PHP"),
    ("ruby", "puts 'start'\nputs Thread.new { 1 + 1 }.value", "start\n2\n", "WebAssembly cannot start threads"),
    ("ruby", "require 'timeout'\nputs Timeout.timeout(5) { 3 }", "3\n", "WebAssembly cannot start threads"),
    ("ruby", "puts `echo hi`", "hi\n", "WebAssembly cannot start processes"),
    ("ruby", "require 'open3'\nputs Open3.capture2('echo hi').first", "hi\n", "WebAssembly cannot start processes"),
    ("ruby", "p system('true')", "true\n", "WebAssembly cannot start processes"),
    ("ruby", "Process.wait(fork { puts 'child' })", "child\n", "WebAssembly cannot start processes"),
    (
        "ruby",
        "require 'socket'\nputs TCPServer.new('127.0.0.1', 0).addr[3]",
        "127.0.0.1\n",
        "`socket` is not in the WebAssembly Ruby",
    ),
    (
        "ruby",
        "require 'bigdecimal'\nputs BigDecimal('0.1') * 3",
        "0.3e0\n",
        "`bigdecimal` is not in the WebAssembly Ruby",
    ),
    (
        "lua",
        "print('start')\nprint(io.popen('echo hi'):read('a'))",
        "start\nhi\n\n",
        "WebAssembly cannot start processes",
    ),
    ("lua", "assert(os.execute('exit 0'))\nprint('did')", "did\n", "WebAssembly cannot start processes"),
    ("sql", "SELECT 1 AS a;\n.shell echo hi\n", "a\n-\n1\nhi\n", "WebAssembly cannot start processes"),
    (
        "sql",
        "CREATE TABLE t(a);\n.import '|echo 5' t\nSELECT a FROM t;",
        "a\n-\n5\n",
        "WebAssembly cannot start processes",
    ),
];

fn serves_both() -> bool {
    ["python", "javascript", "ruby", "php", "lua", "sql"]
        .iter()
        .all(|language| WASM.serves(language) && NATIVE.serves(language))
}

#[track_caller]
pub(crate) fn assert_promoted(ran: &Ran, reason: &str) {
    let promoted = &ran.result["promoted"];
    assert_eq!((ran.text("engine"), promoted["from"].as_str()), ("native", Some("wasm")), "{:#}", ran.result);
    let seen = promoted["reason"].as_str().expect("a reason");
    assert!(seen.starts_with(reason) || seen == HEDGED, "promoted because {seen}, and not because {reason}");
}

/// W16.
#[test]
fn what_webassembly_cannot_do_is_done_natively_and_shown_once() {
    if serves_both() {
        for (language, code, stdout, reason) in BEYOND {
            assert_promoted(&Run::auto(language, code).ran().printed(stdout), reason);
        }
        // And as it is passed on.
        let (language, code, stdout, _) = BEYOND[0];
        let answer = answer(WASM.command_line().command(["run", "-l", language, "-c", code]), b"");
        assert_eq!(answer, Answer::new(0, stdout, ""));
    }
}

#[test]
fn with_engine_wasm_the_error_stands_and_says_what_to_do() {
    if WASM.serves("python") {
        for (language, code, _, reason) in BEYOND {
            let ran = Run::wasm(language, code).ran().exited(if *language == "php" { 255 } else { 1 });
            assert_eq!((ran.text("engine"), ran.result.get("promoted")), ("wasm", None), "{:#}", ran.result);
            let hint = ran.result["error"]["hint"].as_str().unwrap_or_default();
            assert!(hint.starts_with(reason) && hint.ends_with("; run it with engine `native`"), "{code}: {hint}");
        }
    }
}

/// A package that is nowhere is looked for where there may be more of them; what the host says then is the answer.
#[test]
fn a_missing_package_is_looked_for_on_the_host() {
    if serves_both() {
        for (language, code, reason) in [
            // Names that no registry has.
            ("python", "import belljar_has_none", "`belljar_has_none` is not in the WebAssembly Python"),
            ("ruby", "require 'nokogiri'", "`nokogiri` is not in the WebAssembly Ruby"),
            ("javascript", "require('belljar-has-none')", "`belljar-has-none` is not in the WebAssembly JavaScript"),
            ("lua", "require 'no_such_module'", "`no_such_module` is not in the WebAssembly Lua"),
            ("sql", ".load nowhere\n", "WebAssembly cannot load extensions"),
            ("javascript", "import 'belljar-has-none'", "`belljar-has-none` is not in the WebAssembly JavaScript"),
        ] {
            assert_promoted(&Run::auto(language, code).ran(), reason);
        }
    }
}

/// A program's own mistakes are no reason to run it twice, and neither is a missing thing that it can do without.
#[test]
fn what_is_no_fault_of_webassembly_stays() {
    if WASM.serves("python") {
        let stays =
            |ran: Ran| assert!(ran.text("engine") == "wasm" || ran.result["promoted"]["reason"] == HEDGED, "{ran:?}");
        for (language, code) in [
            ("python", "1 / 0"),
            ("python", "import os\nos.no_such_name"),
            ("python", "open('missing')"),
            ("python", "import sys\nsys.exit(2)"),
            ("javascript", "noSuchName"),
            ("javascript", "throw new Error('http')"),
            ("javascript", "require('./missing.js')"),
            ("javascript", "process.exit(2)"),
            ("php", "<?php intdiv(1, 0);"),
            ("php", "<?php no_such_function();"),
            ("php", "<?php echo 1 echo 2;"),
            ("php", "<?php exit(2);"),
            ("ruby", "1 / 0"),
            ("ruby", "require_relative 'missing'"),
            ("ruby", "raise NotImplementedError"),
            ("ruby", "exit 2"),
        ] {
            stays(Run::auto(language, code).ran());
        }
        let optional = "try:\n    import ctypes\nexcept ImportError:\n    ctypes = None\nprint('without')";
        let ran = Run::auto("python", optional).ran().printed("without\n");
        stays(ran);
        let optional = "begin\n  require 'socket'\nrescue LoadError\n  puts 'without'\nend";
        stays(Run::auto("ruby", optional).ran().printed("without\n"));
        let optional = "let http; try { http = require('http'); } catch {} console.log('without')";
        stays(Run::auto("javascript", optional).ran().printed("without\n"));
    }
}

/// The host's interpreter may be older, or have less: what fails there at once is no answer.
#[test]
fn what_runs_only_in_webassembly_is_not_lost_to_a_hedge() {
    if serves_both() {
        let only_here = "import sys, time\nif sys.platform != 'wasi': sys.exit('not here')\n";
        let newer = "import time\ntype Pair = tuple[int, int]\n";
        for start in [only_here, newer] {
            let program = |rest: &str| format!("{start}time.sleep(2)\n{rest}");
            Run::auto("python", &program("print('ok')")).ran().printed("ok\n");
            // More than is held back until it is clear which run is shown.
            let ran = Run::auto("python", &program("print('x' * 2_000_000)")).ran().exited(0);
            assert!(ran.text("stdout").len() > 1_000_000, "{:#}", ran.result);
        }
        // As it is passed on, too.
        let code = format!("{only_here}print('first', flush=True)\ntime.sleep(2)\nprint('last')");
        let answer = answer(WASM.command_line().command(["run", "-l", "python", "-c", &code]), b"");
        assert_eq!(answer, Answer::new(0, "first\nlast\n", ""));
    }
}

/// Some seconds of work for Node.js, and twenty times that for an interpreter.
const LONG_WORK: &str = "let x = 0;\nfor (let i = 0; i < 600_000_000; i++) x = (x * 31 + i) | 0;\nconsole.log(x)";

#[test]
fn long_work_is_done_by_the_faster_engine() {
    if !serves_both() {
        return;
    }
    let native = Run::native("javascript", LONG_WORK).options(&["--timeout", "2m"]).ran().exited(0);
    let auto = Run::auto("javascript", LONG_WORK).options(&["--timeout", "2m"]).ran();
    let auto = auto.printed(native.text("stdout"));
    assert_promoted(&auto, HEDGED);
    // And `wasm` is meant literally.
    let ran = Run::wasm("javascript", LONG_WORK).options(&["--timeout", "2s"]).ran();
    let seen = (ran.text("status"), ran.text("engine"), ran.result.get("promoted"));
    assert_eq!(seen, ("timed_out", "wasm", None), "{:#}", ran.result);
}

/// Both have the same deadline, whichever is shown.
/// It met what WebAssembly lacks, dealt with it, and came to its end, which no native run has to repeat.
#[test]
fn a_good_end_stands_although_something_was_lacking() {
    if !serves_both() {
        return;
    }
    let code = "try { await fetch('http://example.org') } catch {}\n\
                for (const end = Date.now() + 1500; Date.now() < end;);\n\
                if (require('fs').existsSync('/usr/bin')) process.exit(3)\n\
                console.log('done')";
    let ran = Run::auto("javascript", code).ran().printed("done\n");
    assert_eq!((ran.text("engine"), ran.result.get("promoted")), ("wasm", None), "{:#}", ran.result);
}

#[test]
fn a_hedged_run_keeps_its_deadline() {
    if serves_both() {
        for (language, code) in
            [("python", "print('start')\nwhile True: pass"), ("javascript", "console.log('start'); for (;;);")]
        {
            let ran = Run::auto(language, code).options(&["--timeout", "6s"]).ran();
            assert_eq!(
                (ran.code, ran.text("status"), ran.text("stdout")),
                (Some(124), "timed_out", "start\n"),
                "{ran:?}"
            );
            // Whichever engine it ended in, its caller has waited for six seconds.
            assert!(ran.result["usage"]["wall_ms"].as_f64().is_some_and(|wall| wall > 5_900.0), "{ran:?}");
        }
    }
}

/// A run that sleeps is not slower natively, and one that ends first in WebAssembly wins. Either way its output is there once.
#[test]
fn output_of_a_hedged_run_is_shown_once() {
    if serves_both() {
        let code = "import time\nfor n in range(4):\n    print(n)\n    time.sleep(0.5)\nprint('end')";
        Run::auto("python", code).ran().printed("0\n1\n2\n3\nend\n");
        let answer = answer(WASM.command_line().command(["run", "-l", "python", "-c", code]), b"");
        assert_eq!(answer, Answer::new(0, "0\n1\n2\n3\nend\n", ""));
    }
}
