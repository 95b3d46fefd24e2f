//! What takes more than one run to see, or more than comparing: neighbours, figures, the environment, the result's shape.

use std::collections::BTreeSet;
use std::thread;

use sandbox::Language;

use super::case::{Ending, Given, NOTHING, Program, Text, bash, c, javascript, python};
use super::command::SECRET;
use super::report::Report;
use super::{Engine, Subject};

/// Looks around for what another run left, then leaves something in every place.
const VISITOR: Program = python(
    r"
import os, socket, sys
places = ['.', os.environ['HOME'], os.environ['TMPDIR'], '/tmp', '/dev/shm', '/var/tmp', '/run']
print('pid', os.getpid())
print('environment', sorted(name for name in os.environ if name.startswith('VISITED')))
for place in places:
    print(place, sorted(os.listdir(place)) if os.path.isdir(place) else 'absent')
print('processes', len([name for name in os.listdir('/proc') if name.isdigit()]) if os.path.isdir('/proc/self') else '-')
print('host name', socket.gethostname() if hasattr(socket, 'gethostname') else '-')
os.environ['VISITED'] = 'yes'
for place in places:
    try:
        open(os.path.join(place, 'visited-' + sys.argv[1]), 'w').write('x')
    except OSError:
        pass
",
);

/// Two runs see the same fresh world: nothing that the first did is there for the second.
pub fn runs_share_nothing(subject: &Subject) {
    if !subject.serves("python") {
        return;
    }
    let [first, second] = ["first", "second"].map(|name| {
        let given = Given { args: if name == "first" { &["first"] } else { &["second"] }, ..NOTHING };
        let report = VISITOR.report(subject, &given);
        // The control: it did leave something.
        assert!(report.files.iter().any(|file| file.path == format!("visited-{name}")), "{report:#?}");
        report.stdout
    });
    assert_eq!(first, second);
    assert!(!second.contains("visited-"), "{second}");
}

/// Eight at once, each with its own input, output and files.
pub fn parallel_runs_are_apart(subject: &Subject) {
    const NAMES: [&[&str]; 8] = [&["0"], &["1"], &["2"], &["3"], &["4"], &["5"], &["6"], &["7"]];
    const PROGRAM: Program = python(
        "import sys, time\nname = sys.argv[1]\nopen(f'file-{name}', 'w').write(name * 100)\ntime.sleep(0.3)\n\
         print('\\n'.join(name * 50 for _ in range(2000)))\nprint(name, file=sys.stderr)\nsys.exit(int(name))",
    );
    if !subject.serves("python") {
        return;
    }
    let runs = NAMES.map(|args| {
        let subject = *subject;
        thread::spawn(move || PROGRAM.answer(&subject, &Given { args, ..NOTHING }))
    });
    for (number, run) in (0_u8..).zip(runs) {
        let answer = run.join().expect("a run");
        let report = Report::read(&answer);
        Ending::Exit(number).check(&report, &answer);
        assert_eq!(report.stdout, format!("{}\n", number.to_string().repeat(50)).repeat(2000));
        assert_eq!(report.stderr, format!("{number}\n"));
        let files: Vec<(&str, u64)> = report.files.iter().map(|file| (&*file.path, file.bytes)).collect();
        assert_eq!(files, [(&*format!("file-{number}"), 100)]);
    }
}

/// Many short runs on a machine that has not enough processors for them: the end of a run may be heard of before its last
/// output is read, and must not be taken for all of it. What is lost once in a hundred runs is lost here.
pub fn output_is_whole_under_load(subject: &Subject) {
    let program = match subject.engine {
        Engine::Native => bash("echo out; echo err >&2"),
        Engine::Wasm => javascript("console.log('out'); console.error('err')"),
    };
    if !subject.serves(program.language) {
        return;
    }
    let callers: [_; 8] = std::array::from_fn(|_| {
        let subject = *subject;
        thread::spawn(move || {
            for _ in 0..50 {
                let report = program.report(&subject, &NOTHING);
                assert_eq!((&*report.stdout, &*report.stderr), ("out\n", "err\n"));
                assert!(!report.runtime.version.is_empty(), "its answer is read from the output of a run too");
            }
        })
    });
    let failed = callers.map(thread::JoinHandle::join).iter().filter(|caller| caller.is_err()).count();
    assert_eq!(failed, 0, "callers that lost something (messages above)");
}

/// The variables that a program sees are ours, its toolchain's and its language's, and none of the server's.
pub fn base_environment(subject: &Subject) {
    /// What a shell sets for itself, and what `stdbuf` tells the C library.
    const OWN: &[(&str, &[&str])] = &[("bash", &["PWD", "SHLVL", "_"]), ("c", &["LD_PRELOAD", "_STDBUF_O"])];
    const PROGRAMS: &[Program] = &[
        python("import os\nfor name in os.environ: print(name)"),
        javascript("for (const name in process.env) console.log(name)"),
        bash("env -0 | cut -z -d= -f1 | tr '\\0' '\\n'"),
        c("#include <stdio.h>\n#include <string.h>\nextern char **environ;\nint main(void) {\n\
           for (char **variable = environ; *variable; variable++)\n\
           printf(\"%.*s\\n\", (int)strcspn(*variable, \"=\"), *variable); }"),
    ];
    for program in PROGRAMS.iter().filter(|program| subject.serves(program.language)) {
        let report = program.report(subject, &NOTHING);
        let language = Language::find(program.language).expect("a language of the table");
        let mut expected = BTreeSet::from(["PATH", "HOME", "TMPDIR", "LANG"]);
        match subject.engine {
            Engine::Native => {
                let toolchain = language.toolchains.iter().find(|toolchain| toolchain.program == report.runtime.tool);
                let toolchain = toolchain.unwrap_or_else(|| panic!("an unknown tool: {:?}", report.runtime));
                let own = OWN.iter().filter(|(id, _)| *id == language.id).flat_map(|(_, names)| names.iter());
                expected.extend(toolchain.env.iter().map(|(name, _)| *name).chain(own.copied()));
            }
            // There is no tool that would want to be told anything.
            Engine::Wasm => {}
        }
        assert_eq!(report.stdout.lines().collect::<BTreeSet<_>>(), expected, "{}", language.id);
        assert!(!report.stdout.contains(SECRET.0), "{}", report.stdout);
    }
}

/// The figures are about right, and say where they come from.
pub fn usage(subject: &Subject) {
    const MIB: u64 = 1 << 20;
    const WORKER: Program = python(
        "import time\nblock = bytearray(96 << 20)\nfor i in range(0, len(block), 4096): block[i] = 1\n\
         end = time.process_time() + 0.3\nwhile time.process_time() < end: pass\ntime.sleep(0.3)",
    );
    // No clock there tells a process its CPU time, so this one has a loop that is counted.
    const COUNTER: Program = python(
        "import time\nblock = bytearray(96 << 20)\nfor i in range(0, len(block), 4096): block[i] = 1\n\
         for _ in range(6_000_000): pass\ntime.sleep(0.6)",
    );
    if !subject.serves("python") {
        return;
    }
    let (worker, least_cpu_ms) = match subject.engine {
        Engine::Native => (WORKER, 290.0),
        Engine::Wasm => (COUNTER, 30.0),
    };
    let report = worker.report(subject, &NOTHING);
    let usage = &report.usage;
    assert!(usage.wall_ms >= 600.0 && usage.wall_ms < 30_000.0, "{usage:?}");
    assert!(usage.cpu_ms >= least_cpu_ms && usage.cpu_ms < usage.wall_ms, "{usage:?}");
    assert!((96 * MIB..256 * MIB).contains(&usage.peak_memory_bytes), "{usage:?}");
    let (cpu_sources, memory_sources): (&[&str], &[&str]) = match subject.engine {
        Engine::Native => (&["cgroup", "rusage", "procfs"], &["cgroup", "rusage", "procfs"]),
        Engine::Wasm => (&["thread"], &["linear"]),
    };
    assert!(cpu_sources.contains(&&*usage.cpu_source), "{usage:?}");
    assert!(memory_sources.contains(&&*usage.memory_source), "{usage:?}");

    let idle = python("pass").report(subject, &NOTHING);
    assert!(idle.usage.cpu_ms > 0.0 && idle.usage.cpu_ms < 290.0, "{:?}", idle.usage);
    assert!((1..96 * MIB).contains(&idle.usage.peak_memory_bytes), "{:?}", idle.usage);
}

/// All of a run's processes count, also those that nobody waited for: they are alive when the program ends, and end with
/// it.
pub fn usage_of_children(subject: &Subject) {
    const FAMILY: Program = python(
        "import os, signal, time\nread, write = os.pipe()\nfor _ in range(2):\n    if os.fork() == 0:\n\
         \x20       end = time.process_time() + 0.3\n        while time.process_time() < end: pass\n\
         \x20       os.write(write, b'x')\n        signal.pause()\n\
         for _ in range(2): os.read(read, 1)",
    );
    if !subject.serves("python") {
        return;
    }
    let answer = FAMILY.answer(subject, &NOTHING);
    let report = Report::read(&answer);
    Ending::Exit(0).check(&report, &answer);
    assert!(report.usage.cpu_ms >= 550.0, "{:?}", report.usage);
}

/// A program that takes more memory than it may have, a little at a time, touching every page.
pub fn memory_limit(subject: &Subject) {
    const GLUTTONS: &[Program] = &[
        python(
            "import time\nheld = []\nfor _ in range(128):\n    held.append(bytearray(b'x') * (8 << 20))\n    time.sleep(0.005)\n\
             print('all')",
        ),
        javascript(
            "const held = [];\nsetInterval(() => {\n  held.push(Buffer.alloc(8 << 20, 1));\n\
             if (held.length === 128) { console.log('all'); process.exit(); }\n}, 5)",
        ),
        c("#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <unistd.h>\nint main(void) {\n\
           for (int i = 0; i < 128; i++) {\n  char *volatile block = malloc(8 << 20); if (!block) return 9;\n\
           memset(block, 1, 8 << 20); usleep(5000); }\n  puts(\"all\"); }"),
    ];
    for program in GLUTTONS.iter().filter(|program| subject.serves(program.language)) {
        // The control: what it takes can be had.
        let all = program.report(subject, &Given { options: &["--memory", "1500MiB"], ..NOTHING });
        assert_eq!((&*all.status, &*all.stdout), ("completed", "all\n"), "{}: {all:#?}", program.language);

        let answer = program.answer(subject, &Given { options: &["--memory", "256MiB"], ..NOTHING });
        let report = Report::read(&answer);
        match &*report.isolation.memory {
            "cgroup-v1" | "cgroup-v2" | "watchdog" => Ending::Limit("memory").check(&report, &answer),
            // The program is told, and says what it has to say.
            "wasm" if program.language == "c" => assert_eq!(report.exit_code, Some(9), "{report:#?}"),
            "wasm" if subject.engine == Engine::Wasm => {
                Ending::Limit("memory").check(&report, &answer);
                // It is the program's own error that ends it, as the memory is not granted in the first place.
                let kind = report.error.as_ref().map(|error| &*error.kind);
                let own = if program.language == "python" { "MemoryError" } else { "OutOfMemory" };
                assert_eq!(kind, Some(own), "{report:#?}");
            }
            // Nobody counts the pages of all processes together there: the kernel refuses each process what is too much.
            "rlimit" => assert!(report.status == "completed" && report.exit_code != Some(0), "{report:#?}"),
            other => panic!("who holds memory: {other}"),
        }
        assert_eq!(report.stdout, "", "{}", program.language);
        assert!(report.usage.peak_memory_bytes < 400 << 20, "{:?}", report.usage);
    }
}

/// The fields that are always there are there, null where they do not apply; the others are absent then.
pub fn shape_of_the_result(subject: &Subject) {
    const ALWAYS: &[&str] = &[
        "status",
        "exit_code",
        "signal",
        "limit",
        "stdout",
        "stderr",
        "dropped",
        "files",
        "engine",
        "runtime",
        "isolation",
        "usage",
    ];
    if !subject.serves("python") {
        return;
    }
    let leaves_no_file = match subject.engine {
        Engine::Native => python("import os\nos.mkfifo('pipe')"),
        Engine::Wasm => python("import os\nos.symlink('main.py', 'link')"),
    };
    // Nothing is what a statement gives; the value of an expression that comes last is WebAssembly's to tell.
    let value: &[&str] = match subject.engine {
        Engine::Native => &[],
        Engine::Wasm => &["result"],
    };
    for (program, options, more) in [
        (python("pass"), &[][..], &[][..]),
        (python("6 * 7"), &[], value),
        (python("1/0"), &[], &["error"]),
        (leaves_no_file, &[], &["skipped_files"]),
        (python("while True: pass"), &["--timeout", "300ms"], &[]),
    ] {
        let answer = program.answer(subject, &Given { options, ..NOTHING });
        let result: serde_json::Map<String, serde_json::Value> =
            serde_json::from_slice(&answer.stdout).expect("an object");
        let fields: BTreeSet<&str> = result.keys().map(String::as_str).collect();
        assert_eq!(fields, ALWAYS.iter().chain(more).copied().collect(), "{:?}", program.code);
        // In the order of the reference: what a reader looks for first comes first.
        let text = answer.text();
        let places: Vec<_> = ALWAYS.iter().map(|field| text.find(&format!("\"{field}\":"))).collect();
        assert!(places.is_sorted() && places.iter().all(Option::is_some), "{places:?} in {text}");
    }
}

/// The runtime and the walls are named.
pub fn runtime_and_isolation(subject: &Subject) {
    const ASK: Program = python("import platform\nprint(platform.python_version())");
    if !subject.serves("python") {
        return;
    }
    let report = ASK.report(subject, &NOTHING);
    Text::Is("python").check("language", &report.runtime.language);
    assert_eq!(report.stdout, format!("{}\n", report.runtime.version));
    let (levels, holders): (&[&str], &[&str]) = match subject.engine {
        Engine::Native => {
            assert_eq!(report.isolation.level, subject.doctor().level);
            (&["full", "full-noproc"], &["cgroup-v1", "cgroup-v2", "rlimit", "watchdog"])
        }
        Engine::Wasm => (&["wasm+jail"], &["wasm"]),
    };
    assert!(levels.contains(&&*report.isolation.level), "{:?}", report.isolation);
    assert!(holders.contains(&&*report.isolation.memory), "{:?}", report.isolation);
    assert!(holders.contains(&&*report.isolation.processes), "{:?}", report.isolation);
}
