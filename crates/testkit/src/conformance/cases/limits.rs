//! What a run may use. Where a limit's number is what matters, the program itself compares and says so.

use crate::conformance::case::{
    Case, Ending, Error, Expected, Given, NOTHING, SILENT, Text, bash, c, javascript, printed, python,
};

const fn timed_out(stdout: &'static str) -> Expected {
    Expected { ending: Ending::TimedOut, stdout: Text::Is(stdout), ..SILENT }
}

pub(super) const CASES: &[Case] = &[
    Case {
        name: "a loop without end is ended at its deadline, and what it printed is kept",
        given: Given { options: &["--timeout", "4s"], ..NOTHING },
        programs: &[
            python("print('before')\nwhile True: pass"),
            javascript("console.log('before'); for (;;);"),
            bash("echo before; while :; do :; done"),
        ],
        expected: timed_out("before\n"),
    },
    Case {
        // Compiling is part of the run.
        name: "a loop without end is ended at its deadline, and what it printed is kept (c)",
        given: Given { options: &["--timeout", "4s"], ..NOTHING },
        programs: &[c("#include <stdio.h>\nint main(void) { puts(\"before\"); for (volatile int i = 0;; i++); }")],
        expected: timed_out("before\n"),
    },
    Case {
        name: "a sleep past the deadline is ended at it",
        given: Given { options: &["--timeout", "4s"], ..NOTHING },
        programs: &[
            python("import time\nprint('before', end='')\ntime.sleep(600)"),
            javascript("process.stdout.write('before'); setTimeout(() => {}, 600000)"),
            bash("printf before; sleep 600"),
        ],
        expected: timed_out("before"),
    },
    Case {
        name: "a sleep past the deadline is ended at it (c)",
        given: Given { options: &["--timeout", "4s"], ..NOTHING },
        programs: &[c(
            "#include <unistd.h>\nint main(void) { return write(1, \"before\", 6) == 6 ? (int)sleep(600) : 1; }",
        )],
        expected: timed_out("before"),
    },
    Case {
        name: "the CPU limit",
        given: Given { options: &["--cpu", "400ms", "--timeout", "30s"], ..NOTHING },
        programs: &[
            python("while True: pass"),
            javascript("for (;;);"),
            bash("while :; do :; done"),
            c("int main(void) { for (volatile int i = 0;; i++); }"),
        ],
        expected: Expected { ending: Ending::Limit("cpu"), ..SILENT },
    },
    Case {
        name: "sleeping costs no CPU",
        given: Given { options: &["--cpu", "400ms"], ..NOTHING },
        programs: &[
            python("import time\ntime.sleep(0.7)\nprint('awake')"),
            bash("sleep 0.7; echo awake"),
            c("#include <stdio.h>\n#include <unistd.h>\nint main(void) { usleep(700000); puts(\"awake\"); }"),
        ],
        expected: printed("awake\n"),
    },
    Case {
        name: "the disk limit (python)",
        given: Given { options: &["--disk", "4MiB"], ..NOTHING },
        programs: &[python("for i in range(8):\n    open(f'/tmp/{i}', 'wb').write(bytes(1 << 20))")],
        expected: Expected {
            ending: Ending::Exit(1),
            stderr: Text::Has("No space left on device"),
            error: Some(Error { kind: "OSError", message: "[Errno 28] No space left on device", line: Some(2) }),
            ..SILENT
        },
    },
    Case {
        name: "the disk limit counts all places together",
        given: Given { options: &["--disk", "4MiB"], ..NOTHING },
        programs: &[
            javascript(
                "const fs = require('node:fs'); let total = 0;\n\
                 try { for (const place of [process.cwd(), process.env.TMPDIR, '/dev/shm']) for (let i = 0; i < 32; i++) {\n\
                 fs.writeFileSync(`${place}/${i}`, Buffer.alloc(65536)); total += 65536; } }\n\
                 catch (error) { console.log(error.code, total > (3 << 20), total <= (4 << 20)); }\n\
                 for (let i = 0; i < 32; i++) fs.rmSync(`${process.cwd()}/${i}`)",
            ),
            bash(
                "total=0; for place in . \"$TMPDIR\" /dev/shm; do for i in {0..31}; do\n\
                 head -c 65536 /dev/zero > \"$place/$i\" 2> /dev/null || break 2; (( total += 65536 )); done; done\n\
                 echo ENOSPC $(( total > 3 << 20 )) $(( total <= 4 << 20 )) | sed 's/1/true/g'; rm {0..31}",
            ),
            c("#include <errno.h>\n#include <fcntl.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <unistd.h>\n\
               int main(void) {\n  const char *places[] = {\".\", getenv(\"TMPDIR\"), \"/dev/shm\"};\n\
               static char block[65536]; long total = 0; char path[4096];\n\
               for (int place = 0; place < 3; place++) for (int i = 0; i < 32; i++) {\n\
               snprintf(path, sizeof path, \"%s/%d\", places[place], i);\n\
               int file = open(path, O_CREAT | O_WRONLY, 0600);\n\
               if (file < 0 || write(file, block, sizeof block) != sizeof block) goto full;\n\
               close(file); total += sizeof block; }\n  return 1;\nfull:\n\
               printf(\"ENOSPC %s %s\\n\", total > 3 << 20 ? \"true\" : \"no\", total <= 4 << 20 ? \"true\" : \"no\");\n\
               for (int i = 0; i < 32; i++) { snprintf(path, sizeof path, \"%d\", i); unlink(path); } }"),
        ],
        expected: printed("ENOSPC true true\n"),
    },
    Case {
        name: "the limit on files",
        given: Given { configuration: "[defaults]\nfile_count = 100\n", ..NOTHING },
        programs: &[
            python(
                "import os\nmade = 0\ntry:\n    while made < 1000:\n        os.mkdir(f'/tmp/{made}')\n        made += 1\n\
                 except OSError as error:\n    print(error.errno, 50 < made <= 100)",
            ),
            javascript(
                "const fs = require('node:fs'); let made = 0;\n\
                 try { for (; made < 1000; made++) fs.mkdirSync(`/tmp/${made}`); }\n\
                 catch (error) { console.log(-error.errno, made > 50 && made <= 100 ? 'True' : made); }",
            ),
            bash(
                "made=0; while (( made < 1000 )) && mkdir \"/tmp/$made\" 2> /dev/null; do (( made += 1 )); done\n\
                 (( 50 < made && made <= 100 )) && echo 28 True || echo \"28 $made\"",
            ),
            c("#include <errno.h>\n#include <stdio.h>\n#include <sys/stat.h>\nint main(void) {\n\
               int made = 0; char path[64];\n  for (; made < 1000; made++) {\n\
               snprintf(path, sizeof path, \"/tmp/%d\", made); if (mkdir(path, 0700)) break; }\n\
               printf(\"%d %s\\n\", errno, made > 50 && made <= 100 ? \"True\" : \"no\"); }"),
        ],
        expected: printed("28 True\n"),
    },
    Case {
        // The program is one of the ten.
        name: "the limit on processes",
        given: Given { options: &["--processes", "10"], ..NOTHING },
        programs: &[
            python(
                "import os, signal\nchildren = []\ntry:\n    while len(children) < 100:\n        child = os.fork()\n\
                 \x20       if child == 0: signal.pause()\n        children.append(child)\n\
                 except OSError as error:\n    print(error.errno, len(children))",
            ),
            c("#include <errno.h>\n#include <stdio.h>\n#include <unistd.h>\nint main(void) {\n\
               int made = 0, child = 1;\n  while (made < 100 && (child = fork()) > 0) made++;\n\
               if (child == 0) for (;;) pause();\n  printf(\"%d %d\\n\", errno, made); }"),
        ],
        expected: printed("11 9\n"),
    },
    Case {
        name: "the limit on processes counts threads",
        given: Given { options: &["--processes", "10"], ..NOTHING },
        programs: &[
            python(
                "import threading\nstarted = 0\nstop = threading.Event()\ntry:\n    while started < 100:\n\
                 \x20       threading.Thread(target=stop.wait, daemon=True).start()\n        started += 1\n\
                 except RuntimeError as error:\n    print(11, started)\nstop.set()",
            ),
            c("#include <pthread.h>\n#include <stdio.h>\n#include <unistd.h>\n\
               static void *wait_for_ever(void *unused) { for (;;) pause(); }\n\
               int main(void) {\n  int made = 0, error; pthread_t thread;\n\
               while (!(error = pthread_create(&thread, 0, wait_for_ever, 0)) && made < 100) made++;\n\
               printf(\"%d %d\\n\", error, made); }"),
        ],
        expected: printed("11 9\n"),
    },
];
