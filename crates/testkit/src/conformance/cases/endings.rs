//! Exit codes, signals, and what is left running.

use crate::conformance::case::{Case, Ending, Expected, NOTHING, SILENT, Text, bash, c, javascript, printed, python};

const fn exits(code: u8) -> Expected {
    Expected { ending: Ending::Exit(code), ..SILENT }
}

const fn dies(signal: &'static str) -> Expected {
    Expected { ending: Ending::Signal(signal), ..SILENT }
}

pub(super) const CASES: &[Case] = &[
    Case {
        name: "exit code 3",
        given: NOTHING,
        programs: &[
            python("import sys\nsys.exit(3)"),
            javascript("process.exit(3)"),
            bash("exit 3"),
            c("int main(void) { return 3; }"),
        ],
        expected: exits(3),
    },
    Case {
        name: "exit code 255",
        given: NOTHING,
        programs: &[
            python("import os\nos._exit(255)"),
            javascript("process.exitCode = 255"),
            bash("exit 255"),
            c("int main(void) { return -1; }"),
        ],
        expected: exits(255),
    },
    Case {
        // What a shell says of a child that crashed is an exit code of the shell's.
        name: "exit code 139 is no crash, and 124 no timeout",
        given: NOTHING,
        programs: &[python("import sys\nsys.exit(139)"), bash("(exit 139)"), c("int main(void) { return 139; }")],
        expected: exits(139),
    },
    Case {
        name: "SIGSEGV",
        given: NOTHING,
        programs: &[
            python("import ctypes\nctypes.string_at(0)"),
            javascript("process.kill(process.pid, 'SIGSEGV'); setTimeout(() => {}, 10000)"),
            bash("kill -SEGV $$"),
            c("int main(void) { *(volatile int *)0 = 1; }"),
        ],
        expected: dies("SIGSEGV"),
    },
    Case {
        name: "SIGABRT",
        given: NOTHING,
        programs: &[
            python("import os\nos.abort()"),
            bash("kill -ABRT $$"),
            c("#include <stdlib.h>\nint main(void) { abort(); }"),
        ],
        expected: dies("SIGABRT"),
    },
    Case {
        // Nobody's limit: it did that itself.
        name: "SIGKILL by its own hand",
        given: NOTHING,
        programs: &[
            python("import os\nos.kill(os.getpid(), 9)"),
            javascript("process.kill(process.pid, 'SIGKILL'); setTimeout(() => {}, 10000)"),
            bash("kill -KILL $$"),
            c("#include <signal.h>\nint main(void) { raise(SIGKILL); }"),
        ],
        expected: dies("SIGKILL"),
    },
    Case {
        name: "a child's death is its parent's to tell",
        given: NOTHING,
        programs: &[
            python(
                "import os\nchild = os.fork()\nif child == 0: os.kill(os.getpid(), 9)\n\
                 print(os.WTERMSIG(os.waitpid(child, 0)[1]))",
            ),
            bash("sh -c 'kill -KILL $$'; echo $(( $? - 128 ))"),
            c(
                "#include <signal.h>\n#include <stdio.h>\n#include <sys/wait.h>\n#include <unistd.h>\nint main(void) {\n\
               int status, child = fork(); if (!child) raise(SIGKILL);\n\
               waitpid(child, &status, 0); printf(\"%d\\n\", WTERMSIG(status)); }",
            ),
        ],
        // Bash tells of the signal on its standard error.
        expected: Expected { stdout: Text::Is("9\n"), stderr: Text::Has(""), ..SILENT },
    },
    Case {
        name: "what it leaves running ends with it",
        given: NOTHING,
        programs: &[
            python("import subprocess\nsubprocess.Popen(['sleep', '600'], start_new_session=True)\nprint('done')"),
            javascript(
                "require('node:child_process').spawn('sleep', ['600'], { detached: true, stdio: 'inherit' }).unref();\n\
                 console.log('done')",
            ),
            bash("setsid sleep 600 & echo done"),
            c("#include <stdio.h>\n#include <unistd.h>\nint main(void) {\n\
               if (!fork()) { setsid(); sleep(600); }\n  puts(\"done\"); }"),
        ],
        expected: printed("done\n"),
    },
];
