//! C and C++: what is particular to languages that are compiled before they run.

use crate::promotion::assert_promoted;
use crate::{NATIVE, Ran, Run, WASM};

const HELLO: &str = "#include <stdio.h>\nint main(void) { puts(\"hello\"); }\n";

fn diagnostics(ran: &Ran) -> &str {
    ran.result["diagnostics"].as_str().unwrap_or_default()
}

#[test]
fn warnings_are_apart_from_what_the_program_says() {
    if WASM.serves("c") {
        let code = "#include <stdio.h>\nint main(void) { fprintf(stderr, \"mine\\n\"); printf(\"%s\\n\", 7 ? \"x\" : \"y\", 5); }\n";
        let ran = Run::wasm("c", code).ran().exited(0);
        assert_eq!((ran.text("stdout"), ran.text("stderr")), ("x\n", "mine\n"));
        let said = diagnostics(&ran);
        assert!(said.starts_with("/box/main.c:2:") && said.contains("warning: data argument not used"), "{said}");
        assert!(ran.result.get("error").is_none(), "{:#}", ran.result);
        let quiet = Run::wasm("c", code).options(&["--compiler-arg", "-w"]).ran().exited(0);
        assert_eq!(quiet.result.get("diagnostics"), None);
    }
}

#[test]
fn errors_come_whole() {
    if WASM.serves("c") {
        let ran = Run::wasm("c", "int main(void) {\n  return one;\n}\nint f(void) { return two }\n").ran();
        let ran = ran.failed("CompileError", Some(2));
        for line in ["/box/main.c:2:10: error: ", "/box/main.c:4:22: error: ", "2 errors generated."] {
            assert!(ran.text("stderr").contains(line), "{}", ran.text("stderr"));
        }
        let ran = Run::wasm("c", "int answer(void);\nint main(void) { return answer(); }\n").ran();
        let ran = ran.failed("LinkError", None);
        assert!(ran.text("stderr").contains("undefined symbol: answer"), "{}", ran.text("stderr"));
    }
}

#[test]
fn several_files_are_one_program() {
    for engine in ["wasm", "native"] {
        let (subject, files) = (
            if engine == "wasm" { WASM } else { NATIVE },
            &[
                ("part.c", "#include \"part.h\"\nint twice(int n) { return 2 * n + EXTRA; }\n"),
                ("part.h", "int twice(int);\n"),
                ("table.c", "7,\n"),
            ],
        );
        if subject.serves("c") {
            let code = "#include <stdio.h>\n#include \"part.h\"\nint table[] = {\n#include \"table.c\"\n};\n\
                        int main(void) { printf(\"%d\\n\", twice(table[0])); }\n";
            let options: &[&str] = &["--compiler-arg", "-DEXTRA=1", "--compiler-arg", "-O1"];
            Run { engine, files, ..Run::wasm("c", code) }.options(options).ran().printed("15\n");
        }
    }
}

#[test]
fn arguments_reach_the_compiler() {
    if WASM.serves("cpp") {
        let code = "#include <iostream>\nint main() { std::cout << __cplusplus << ' ' << N << '\\n'; }\n";
        for (standard, printed) in [("-std=c++17", "201703 5\n"), ("-std=gnu++20", "202002 5\n")] {
            let options: &[&str] = &["--compiler-arg", standard, "--compiler-arg", "-D", "--compiler-arg", "N=5"];
            Run::wasm("cpp", code).options(options).ran().printed(printed);
        }
        let code = "int main() { return __OPTIMIZE__ + 0; }\n";
        Run::wasm("cpp", code).options(&["--compiler-arg", "-O0"]).ran().failed("CompileError", Some(1));
    }
}

/// All headers are precompiled, and names of those that a program does not include are its own all the same, unless the library's own
/// headers have them too.
#[test]
fn names_of_other_headers_are_free() {
    if WASM.serves("cpp") && NATIVE.serves("cpp") {
        let code = "#include <iostream>\nusing namespace std;\nint regex = 3, any = 4;\n\
                    int main() { cout << regex + any << endl; }\n";
        Run::wasm("cpp", code).ran().printed("7\n");
        let code = "#include <iostream>\nusing namespace std;\nint count = 3;\n\
                    int main() { cout << count << endl; }\n";
        assert_promoted(&Run::auto("cpp", code).ran().printed("3\n"), "the headers of WebAssembly's C++");
    }
}

#[test]
fn the_newest_library_is_there() {
    if WASM.serves("cpp") {
        let code = "#include <expected>\n#include <format>\n#include <print>\n#include <ranges>\n#include <vector>\n\
                    std::expected<int, const char *> half(int n) {\n  if (n % 2) return std::unexpected(\"odd\");\n  return n / 2;\n}\n\
                    int main() {\n  std::println(\"{:>5}|{}\", half(8).value(), half(7).error());\n\
                    std::println(\"{}\", std::vector{1, 2, 3} | std::views::transform([](int n) { return n * n; }));\n}\n";
        Run::wasm("cpp", code).ran().printed("    4|odd\n[1, 4, 9]\n");
    }
}

/// Compiling is part of the run: what never ends is ended, what takes too much is refused.
#[test]
fn the_compiler_is_held_to_the_limits() {
    if !WASM.serves("cpp") {
        return;
    }
    let exponential = "template <int N> struct F { F<N - 1> *a; static int x; }; \n\
                       template <int A, int B> struct G { using T = typename G<A - 1, B>::T; using U = typename G<A - 1, B + (1 << A)>::T; };\n\
                       template <int B> struct G<0, B> { using T = int; };\nG<28, 0>::T main() {}\n";
    let macros = "#define A x x x x x x x x x x\n#define B A A A A A A A A A A\n#define C B B B B B B B B B B\n\
                  #define D C C C C C C C C C C\n#define E D D D D D D D D D D\n#define F E E E E E E E E E E\n\
                  #define G F F F F F F F F F F\n#define H G G G G G G G G G G\nint main(void) { H }\n";
    for (language, code) in [("cpp", exponential), ("c", macros)] {
        let ran = Run::wasm(language, code).options(&["--timeout", "3s"]).ran();
        let status = ran.text("status");
        assert!(["timed_out", "limit_exceeded"].contains(&status), "{:#}", ran.result);
        assert_eq!(ran.result["error"]["kind"].as_str(), Some("CompileError"), "{:#}", ran.result);
        let wall = ran.result["usage"]["wall_ms"].as_f64().expect("a number");
        assert!(wall < 15_000.0, "{wall} ms");
    }
    let deep = "template <int N> struct R { static constexpr int v = R<N + 1>::v; };\nint main() { return R<0>::v; }\n";
    let ran = Run::wasm("cpp", deep).ran().failed("CompileError", Some(1));
    assert!(ran.text("stderr").contains("recursive template instantiation"), "{:#}", ran.result);
    let own = "#include \"main.c\"\nint main(void) {}\n";
    Run::wasm("c", own).ran().failed("CompileError", Some(1));
}

#[test]
fn a_program_without_a_usual_main_is_told() {
    if WASM.serves("c") {
        let ran = Run::wasm("c", "int f(void) { return 1; }\n").ran().failed("LinkError", None);
        assert_eq!(ran.text("stderr"), "wasm-ld: error: undefined symbol: main\n");
        let ran = Run::wasm("c", "#include <stdio.h>\nvoid main() { puts(\"x\"); }\n").ran().exited(1);
        let hint = ran.result["error"]["hint"].as_str().unwrap_or_default();
        assert!(hint.ends_with("run it with engine `native`"), "{:#}", ran.result);
        // An import that there is not is one too.
        let code = "__attribute__((import_module(\"host\"), import_name(\"open\"))) int open_host(void);\n\
                    int main(void) { return open_host(); }\n";
        let ran = Run::wasm("c", code).ran().exited(1);
        let message = ran.result["error"]["message"].as_str().unwrap_or_default();
        assert!(message.contains("there is no `host.open` to import"), "{:#}", ran.result);
        let code = "__attribute__((import_module(\"wasi_snapshot_preview1\"), import_name(\"fd_write\"))) int w(double);\n\
                    int main(void) { return w(1); }\n";
        Run::wasm("c", code).ran().failed("LinkError", None);
    }
}

#[test]
fn what_is_wrong_with_a_pointer_is_a_crash() {
    if WASM.serves("c") {
        for (code, signal) in [
            (
                "int main(int c, char **v) { int *p = v[c + 5] ? &c : 0; p -= c - 1; *(volatile int *)p = 5; return *p; }",
                "SIGSEGV",
            ),
            ("int main(void) { return ((volatile struct { int pad[100]; int x; } *)0)->x; }", "SIGSEGV"),
            (
                "int f(int n) { volatile char a[4096]; a[0] = n; return f(n + 1) + a[0]; }\nint main(void) { return f(0); }",
                "SIGSEGV",
            ),
            ("int main(int c, char **v) { return 5 / (c - 1); }", "SIGFPE"),
            ("int main(void) { ((void (*)(void))0)(); }", "SIGSEGV"),
            ("#include <string.h>\nint main(int c, char **v) { memset(v[c], 1, 100000); return 0; }", "SIGSEGV"),
            ("#include <string.h>\nint main(int c, char **v) { memset(v[c], 1, 10); return 0; }", "SIGSEGV"),
            (
                "#include <string.h>\nint main(int c, char **v) { char a[10]; memcpy(a, v[c], 10); return a[c]; }",
                "SIGSEGV",
            ),
            ("#include <string.h>\nint main(int c, char **v) { memset(v[c], 1, 10); for (;;); }", "SIGSEGV"),
            (
                "#include <string.h>\nint f(int n) { char a[4096]; memset(a, n, sizeof a); return f(n + 1) + a[n & 7]; }\nint main(void) { return f(0); }",
                "SIGSEGV",
            ),
        ] {
            let ran = Run::wasm("c", code).ran();
            assert_eq!((ran.text("status"), ran.text("signal")), ("crashed", signal), "{code}: {:#}", ran.result);
            assert_eq!(ran.result["error"]["kind"].as_str(), Some("Trap"), "{:#}", ran.result);
        }
        // Unless it is for want of memory.
        let code = "#include <stdlib.h>\n#include <string.h>\nint main(void) { for (;;) { char *volatile p = malloc(1 << 24); memset(p, 1, 1 << 24); } }";
        let ran = Run::wasm("c", code).ran();
        assert_eq!((ran.text("status"), ran.text("limit")), ("limit_exceeded", "memory"), "{:#}", ran.result);
        // What the host is asked to read or write there is an error, as everywhere.
        let code = "#include <stdio.h>\n#include <string.h>\n#include <errno.h>\n#include <unistd.h>\n\
                    int main(void) { int n = write(1, (char *)8, 4); printf(\"%d %s\\n\", n, strerror(errno)); }\n";
        Run::wasm("c", code).ran().printed("-1 Bad address\n");
        // What was printed before is there.
        let ran = Run::wasm(
            "c",
            "#include <stdio.h>\n#include <stdlib.h>\nint main(void) { puts(\"one\"); puts(\"two\"); abort(); }\n",
        )
        .ran();
        assert_eq!((ran.text("signal"), ran.text("stdout")), ("SIGABRT", "one\ntwo\n"));
    }
}

/// Static memory is the program's to pay for.
#[test]
fn memory_of_a_program_counts_from_nothing() {
    if WASM.serves("c") {
        let code = "#include <stdio.h>\nstatic volatile char held[40 << 20];\nint main(void) { held[5] = 1; puts(\"held\"); }\n";
        let ran = Run::wasm("c", code).options(&["--memory", "32MiB"]).ran();
        assert_eq!((ran.text("status"), ran.text("limit")), ("limit_exceeded", "memory"), "{:#}", ran.result);
        Run::wasm("c", code).ran().printed("held\n");
        let large = code.replace("40 << 20", "400 << 20");
        let ran = Run::wasm("c", &large).ran().exited(1);
        let hint = ran.result["error"]["hint"].as_str().unwrap_or_default();
        assert!(hint.starts_with("its static data is too large"), "{:#}", ran.result);
    }
}

const THREADS: &str = "#include <pthread.h>\n#include <stdio.h>\nstatic void *work(void *x) { puts(\"in a thread\"); return x; }\n\
    int main(void) { pthread_t t; if (pthread_create(&t, 0, work, 0)) return 1; pthread_join(t, 0); return 0; }\n";

#[test]
fn what_webassembly_has_not_is_done_natively() {
    if !(WASM.serves("cpp") && NATIVE.serves("cpp")) {
        return;
    }
    for (language, code, stdout, reason) in [
        ("c", THREADS, "in a thread\n", "it uses threads"),
        ("c", "#include <stdlib.h>\nint main(void) { return system(\"echo hi\"); }\n", "hi\n", "it starts processes"),
        (
            "c",
            "#include <stdio.h>\n#include <sys/socket.h>\nint main(void) { printf(\"%d\\n\", socket(AF_UNIX, SOCK_STREAM, 0) >= 0); }\n",
            "1\n",
            "it uses sockets",
        ),
        (
            "c",
            "#include <stdio.h>\nint main(void) { long big = 5000000000; printf(\"%ld\\n\", big); }\n",
            "5000000000\n",
            "its `long`",
        ),
        (
            "c",
            "#include <stdio.h>\n#include <error.h>\nint main(void) { printf(\"%d\\n\", (int)error_message_count); }\n",
            "0\n",
            "there is no `error.h`",
        ),
        (
            "c",
            "#include <stdio.h>\nint main(int c, char **v, char **e) { puts(e ? \"yes\" : \"no\"); }\n",
            "yes\n",
            "`main` is called as another type",
        ),
        (
            "cpp",
            "#include <iostream>\n#include <thread>\nint main() { std::thread t([] { std::cout << \"ran\\n\"; }); t.join(); }\n",
            "ran\n",
            "it uses threads",
        ),
    ] {
        assert_promoted(&Run::auto(language, code).ran().printed(stdout), reason);
    }
    let ran = Run::wasm("c", "#include <stdlib.h>\nint main(void) { return system(\"echo hi\"); }\n").ran().exited(1);
    let hint = ran.result["error"]["hint"].as_str().unwrap_or_default();
    assert!(
        hint.starts_with("it starts processes") && hint.ends_with("; run it with engine `native`"),
        "{:#}",
        ran.result
    );
    // What it is asked for literally, it does: with a `long` of 32 bits.
    let code = "#include <stdio.h>\nint main(void) { printf(\"%d\\n\", (int)sizeof(long)); }\n";
    Run::wasm("c", code).ran().printed("4\n");
}

#[test]
fn arguments_that_reach_out_are_refused() {
    if WASM.serves("c") {
        let belljar = WASM.command_line();
        belljar.write("program.c", HELLO);
        for argument in ["-I/etc", "-include", "@x", "-fplugin=x", "-Wl,--export-all"] {
            let answer = belljar.answer(["run", "program.c", "--compiler-arg", argument]);
            assert_eq!(answer.code, Some(125), "{answer:?}");
            assert!(answer.stderr.contains("is not allowed"), "{answer:?}");
        }
    }
}

/// What a compiler can be told to read; it ends at each of them.
const READS: &[&str] = &[
    "#include \"/etc/passwd\"\nint main(void) {}\n",
    "#include </etc/passwd>\nint main(void) {}\n",
    "#include \"../../../../../../etc/passwd\"\nint main(void) {}\n",
    "#include </proc/self/environ>\nint main(void) {}\n",
    "#include \"/proc/self/maps\"\nint main(void) {}\n",
    "#include \"/dev/fd/0\"\nint main(void) {}\n",
    "#include \"/proc/self/fd/0\"\nint main(void) {}\n",
    "#include_next \"/etc/passwd\"\nint main(void) {}\n",
    "#import \"/etc/passwd\"\nint main(void) {}\n",
    "#define NAME \"/etc/passwd\"\n#include NAME\nint main(void) {}\n",
    "const char text[] = {\n#embed \"/etc/passwd\"\n};\nint main(void) {}\n",
    "const char text[] = {\n#embed \"../../etc/passwd\"\n};\nint main(void) {}\n",
    "__asm__(\".incbin \\\"/etc/passwd\\\"\");\nint main(void) {}\n",
    "__asm__(\".include \\\"/etc/passwd\\\"\");\nint main(void) {}\n",
    "#pragma clang module load passwd\nint main(void) {}\n",
    "#pragma GCC dependency \"/etc/passwd\"\n#error end\nint main(void) {}\n",
];

#[test]
fn the_compiler_reads_nothing_of_the_host() {
    if WASM.serves("c") {
        for code in READS {
            let ran = Run::wasm("c", code).ran().exited(1);
            assert_eq!(ran.result["error"]["kind"].as_str(), Some("CompileError"), "{code}: {:#}", ran.result);
            let said = format!("{:#}", ran.result);
            assert!(!said.contains("root:") && !said.contains("PATH="), "{code}: {said}");
        }
    }
}
