//! The workspace, and what is brought back of it.

use crate::conformance::case::{Case, Ending, Expected, Given, NOTHING, SILENT, bash, c, javascript, printed, python};

const INPUTS: &[(&str, &str)] = &[
    ("notes.txt", "one\ntwo\n"),
    ("data/deep/er/numbers.csv", "a,b\n1,2\n"),
    ("with space ü.txt", "☃\n"),
    ("empty", ""),
];

pub(super) const CASES: &[Case] = &[
    Case {
        name: "input files are there, unchanged ones do not come back",
        given: Given { files: INPUTS, ..NOTHING },
        programs: &[
            python(
                "for name in 'notes.txt', 'data/deep/er/numbers.csv', 'with space ü.txt', 'empty':\n\
                 \x20   print(repr(open(name).read()).strip(\"'\"))",
            ),
            javascript(
                "for (const name of ['notes.txt', 'data/deep/er/numbers.csv', 'with space ü.txt', 'empty'])\n\
                 console.log(JSON.stringify(require('node:fs').readFileSync(name, 'utf8')).slice(1, -1))",
            ),
            bash(
                "for name in notes.txt data/deep/er/numbers.csv 'with space ü.txt' empty; do\n\
                 awk '{ printf \"%s\\\\n\", $0 } END { print \"\" }' \"$name\"; done",
            ),
            c("#include <stdio.h>\nint main(void) {\n\
               const char *names[] = {\"notes.txt\", \"data/deep/er/numbers.csv\", \"with space ü.txt\", \"empty\"};\n\
               for (int i = 0; i < 4; i++) {\n  FILE *file = fopen(names[i], \"r\"); if (!file) return 1;\n\
               for (int byte; (byte = getc(file)) != EOF;) if (byte == '\\n') printf(\"\\\\n\"); else putchar(byte);\n\
               putchar('\\n'); } }"),
        ],
        expected: printed("one\\ntwo\\n\na,b\\n1,2\\n\n☃\\n\n\n"),
    },
    Case {
        name: "a changed input comes back, and a removed one does not",
        given: Given { files: INPUTS, ..NOTHING },
        programs: &[
            python("import os\nopen('notes.txt', 'a').write('three\\n')\nos.remove('empty')"),
            javascript(
                "const fs = require('node:fs');\nfs.appendFileSync('notes.txt', 'three\\n'); fs.unlinkSync('empty')",
            ),
            bash("echo three >> notes.txt; rm empty"),
            c("#include <stdio.h>\n#include <unistd.h>\nint main(void) {\n\
               FILE *file = fopen(\"notes.txt\", \"a\"); fputs(\"three\\n\", file); return unlink(\"empty\"); }"),
        ],
        expected: Expected { files: &[("notes.txt", 14, "text/plain")], ..SILENT },
    },
    Case {
        name: "an input that changed but kept its size comes back",
        given: Given { files: INPUTS, ..NOTHING },
        programs: &[
            python("open('notes.txt', 'w').write('one\\nTWO\\n')"),
            javascript("require('node:fs').writeFileSync('notes.txt', 'one\\nTWO\\n')"),
            bash("printf 'one\\nTWO\\n' > notes.txt"),
            c("#include <stdio.h>\nint main(void) { fputs(\"one\\nTWO\\n\", fopen(\"notes.txt\", \"w\")); }"),
        ],
        expected: Expected { files: &[("notes.txt", 8, "text/plain")], ..SILENT },
    },
    Case {
        name: "new files are listed with size and type, in order",
        given: NOTHING,
        programs: &[
            python(
                "import os\nos.makedirs('out/deep/er')\nos.mkdir('hollow')\n\
                 for name in 'zero', 'plot.png', 'out/data.json', 'out/deep/er/Täble.CSV', '.hidden.txt':\n\
                 \x20   open(name, 'w').write('x' * len(name) if name != 'zero' else '')",
            ),
            javascript(
                "const fs = require('node:fs');\n\
                 fs.mkdirSync('out/deep/er', { recursive: true }); fs.mkdirSync('hollow');\n\
                 for (const name of ['zero', 'plot.png', 'out/data.json', 'out/deep/er/Täble.CSV', '.hidden.txt'])\n\
                 fs.writeFileSync(name, name === 'zero' ? '' : 'x'.repeat(name.length))",
            ),
            bash(
                "mkdir -p out/deep/er hollow; : > zero\n\
                 for name in plot.png out/data.json out/deep/er/Täble.CSV .hidden.txt; do\n\
                 printf 'x%.0s' $(seq ${#name}) > \"$name\"; done",
            ),
            c("#include <stdio.h>\n#include <sys/stat.h>\n\
               static void make(const char *name, int size) {\n\
               FILE *file = fopen(name, \"w\"); while (size--) putc('x', file); fclose(file); }\n\
               int main(void) {\n  mkdir(\"out\", 0700); mkdir(\"out/deep\", 0700); mkdir(\"out/deep/er\", 0700);\n\
               mkdir(\"hollow\", 0700); make(\"zero\", 0); make(\"plot.png\", 8); make(\"out/data.json\", 13);\n\
               make(\"out/deep/er/Täble.CSV\", 21); make(\".hidden.txt\", 11); }"),
        ],
        expected: Expected {
            files: &[
                (".hidden.txt", 11, "text/plain"),
                ("out/data.json", 13, "application/json"),
                ("out/deep/er/Täble.CSV", 21, "text/csv"),
                ("plot.png", 8, "image/png"),
                ("zero", 0, "application/octet-stream"),
            ],
            ..SILENT
        },
    },
    Case {
        name: "the program can read its own source, which is not listed",
        given: NOTHING,
        programs: &[
            python("# marker\nprint(open(__file__).readline().strip())"),
            javascript("// marker\nconsole.log('#', require('node:fs').readFileSync(__filename, 'utf8').slice(3, 9))"),
            bash("# marker\nhead -n 1 \"$0\""),
            c("// marker\n#include <stdio.h>\nint main(void) {\n\
               char line[64]; if (!fgets(line, sizeof line, fopen(__FILE__, \"r\"))) return 1;\n\
               printf(\"# %.6s\\n\", line + 3); }"),
        ],
        expected: printed("# marker\n"),
    },
    Case {
        name: "it starts in its workspace, where it may write",
        given: Given { files: &[("here.txt", "")], ..NOTHING },
        programs: &[
            python(
                "import os\nassert os.path.isfile('here.txt')\nopen(os.path.join(os.getcwd(), 'made.txt'), 'w').write('made')",
            ),
            javascript(
                "const fs = require('node:fs');\nfs.statSync('here.txt'); fs.writeFileSync(`${process.cwd()}/made.txt`, 'made')",
            ),
            bash("test -f here.txt && printf made > \"$PWD/made.txt\""),
            c("#include <stdio.h>\n#include <unistd.h>\nint main(void) {\n\
               char path[4096]; if (access(\"here.txt\", R_OK) || !getcwd(path, 4000)) return 1;\n\
               if (chdir(path)) return 2; return fputs(\"made\", fopen(\"made.txt\", \"w\")) < 0; }"),
        ],
        expected: Expected { files: &[("made.txt", 4, "text/plain")], ..SILENT },
    },
    Case {
        name: "home and temporary directory are writable, and their files stay away",
        given: NOTHING,
        programs: &[
            python(
                "import os, tempfile\nfor name in 'HOME', 'TMPDIR':\n    path = os.path.join(os.environ[name], name)\n\
                 \x20   open(path, 'w').write('x')\n    print(name, os.path.getsize(path))\n\
                 assert tempfile.gettempdir() == os.environ['TMPDIR']",
            ),
            javascript(
                "const fs = require('node:fs');\nfor (const name of ['HOME', 'TMPDIR']) {\n\
                 const path = `${process.env[name]}/${name}`; fs.writeFileSync(path, 'x');\n\
                 console.log(name, fs.statSync(path).size); }",
            ),
            bash(
                "for name in HOME TMPDIR; do printf x > \"${!name}/$name\"; echo \"$name $(wc -c < \"${!name}/$name\")\"; done",
            ),
            c("#include <stdio.h>\n#include <stdlib.h>\nint main(void) {\n\
               const char *names[] = {\"HOME\", \"TMPDIR\"}; char path[4096];\n  for (int i = 0; i < 2; i++) {\n\
               snprintf(path, sizeof path, \"%s/%s\", getenv(names[i]), names[i]);\n\
               FILE *file = fopen(path, \"w\"); if (!file) return 1;\n\
               putc('x', file); printf(\"%s %ld\\n\", names[i], ftell(file)); } }"),
        ],
        expected: printed("HOME 1\nTMPDIR 1\n"),
    },
    Case {
        name: "files of a program that fails come back too",
        given: NOTHING,
        programs: &[
            python("import sys\nopen('partial.log', 'w').write('so far')\nsys.exit(4)"),
            javascript("require('node:fs').writeFileSync('partial.log', 'so far'); process.exit(4)"),
            bash("printf 'so far' > partial.log; exit 4"),
            c("#include <stdio.h>\nint main(void) { fputs(\"so far\", fopen(\"partial.log\", \"w\")); return 4; }"),
        ],
        expected: Expected { ending: Ending::Exit(4), files: &[("partial.log", 6, "text/plain")], ..SILENT },
    },
];
