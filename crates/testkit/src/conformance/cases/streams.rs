//! Standard input, output and error.

use crate::conformance::case::{
    Case, Expected, Given, Input, NOTHING, SILENT, Text, bash, c, javascript, letters, printed, python,
};
use crate::conformance::report::Dropped;

/// What is kept of a stream, in the cases that are about it.
const CAP: &str = "[defaults]\noutput = \"4KiB\"\n";

/// 10,000 letters under a cap of 4,096: half of it from each end, and a note between.
fn head_and_tail() -> String {
    let all = String::from_utf8(letters(10_000)).expect("letters");
    let (head, tail) = (all.get(..2048).expect("ASCII"), all.get(10_000 - 2048..).expect("ASCII"));
    format!("{head}\n[… 5904 bytes dropped …]\n{tail}")
}

fn whole_cap() -> String {
    String::from_utf8(letters(4096)).expect("letters")
}

fn a_megabyte() -> String {
    String::from_utf8(letters(1_000_000)).expect("letters")
}

fn numbered(name: &str) -> String {
    (0..1000).flat_map(|number| [name.to_owned(), format!(" {number}\n")]).collect()
}

/// Copies its input to its output.
const ECHO: &[crate::conformance::case::Program] = &[
    python("import sys\nsys.stdout.buffer.write(sys.stdin.buffer.read())"),
    javascript("process.stdout.write(require('node:fs').readFileSync(0))"),
    bash("cat"),
    c("#include <stdio.h>\nint main(void) { for (int byte; (byte = getchar()) != EOF;) putchar(byte); }"),
];

pub(super) const CASES: &[Case] = &[
    Case {
        name: "input comes back",
        given: Given { stdin: Input::Bytes("first\n\nthird ☃\r\nno newline".as_bytes()), ..NOTHING },
        programs: ECHO,
        expected: printed("first\n\nthird ☃\r\nno newline"),
    },
    Case { name: "no input is the end of input", given: NOTHING, programs: ECHO, expected: SILENT },
    Case {
        name: "empty input is the end of input",
        given: Given { stdin: Input::Bytes(b""), ..NOTHING },
        programs: ECHO,
        expected: SILENT,
    },
    Case {
        name: "a megabyte there and back",
        given: Given { stdin: Input::Letters(1_000_000), ..NOTHING },
        programs: ECHO,
        expected: Expected { stdout: Text::Made(a_megabyte), ..SILENT },
    },
    Case {
        name: "10 MB of input",
        given: Given { stdin: Input::Letters(10_000_000), ..NOTHING },
        programs: &[
            python("import sys\ndata = sys.stdin.buffer.read()\nprint(len(data), data[-3:].decode())"),
            javascript(
                "const data = require('node:fs').readFileSync(0);\nconsole.log(data.length, `${data.slice(-3)}`)",
            ),
            bash("data=$(cat)\necho \"${#data} ${data: -3}\""),
            c("#include <stdio.h>\nint main(void) {\n  char last[4] = \"...\"; long count = 0;\n\
               for (int byte; (byte = getchar()) != EOF; count++) {\n\
               last[0] = last[1]; last[1] = last[2]; last[2] = byte; }\n  printf(\"%ld %s\\n\", count, last); }"),
        ],
        // 10,000,000 is 26 times 384,615 and 10.
        expected: printed("10000000 hij\n"),
    },
    Case {
        name: "input that nobody reads",
        given: Given { stdin: Input::Letters(10_000_000), ..NOTHING },
        programs: &[
            python("print('done')"),
            javascript("console.log('done')"),
            bash("echo done"),
            c("#include <stdio.h>\nint main(void) { puts(\"done\"); }"),
        ],
        expected: printed("done\n"),
    },
    Case {
        name: "output and error are kept apart",
        given: NOTHING,
        programs: &[
            python("import sys\nprint('out')\nprint('err', file=sys.stderr)\nprint('out again')"),
            javascript("console.log('out'); console.error('err'); console.log('out again')"),
            bash("echo out; echo err >&2; echo out again"),
            c(
                "#include <stdio.h>\nint main(void) { puts(\"out\"); fprintf(stderr, \"err\\n\"); puts(\"out again\"); }",
            ),
        ],
        expected: Expected { stdout: Text::Is("out\nout again\n"), stderr: Text::Is("err\n"), ..SILENT },
    },
    Case {
        name: "both streams in turn, line by line",
        given: NOTHING,
        programs: &[
            python("import sys\nfor i in range(1000):\n  print('out', i)\n  print('err', i, file=sys.stderr)"),
            javascript("for (let i = 0; i < 1000; i++) { console.log(`out ${i}`); console.error(`err ${i}`); }"),
            bash("for ((i = 0; i < 1000; i++)); do echo \"out $i\"; echo \"err $i\" >&2; done"),
            c("#include <stdio.h>\nint main(void) { for (int i = 0; i < 1000; i++) {\n\
               printf(\"out %d\\n\", i); fprintf(stderr, \"err %d\\n\", i); } }"),
        ],
        expected: Expected { stdout: Text::Made(|| numbered("out")), stderr: Text::Made(|| numbered("err")), ..SILENT },
    },
    Case {
        name: "bytes that are not UTF-8 are replaced",
        given: NOTHING,
        programs: &[
            python("import os\nos.write(1, b'a\\xffb\\xc3\\n')\nos.write(2, b'\\xf0\\x9f')"),
            javascript(
                "const fs = require('node:fs');\n\
                 fs.writeSync(1, Buffer.from([97, 255, 98, 195, 10])); fs.writeSync(2, Buffer.from([240, 159]))",
            ),
            bash("printf 'a\\xffb\\xc3\\n'; printf '\\xf0\\x9f' >&2"),
            c("#include <unistd.h>\nint main(void) {\n\
               return write(1, \"a\\xff\" \"b\\xc3\\n\", 5) - write(2, \"\\xf0\\x9f\", 2) - 3; }"),
        ],
        expected: Expected { stdout: Text::Is("a\u{fffd}b\u{fffd}\n"), stderr: Text::Is("\u{fffd}"), ..SILENT },
    },
    Case {
        name: "NUL and control characters are kept",
        given: NOTHING,
        programs: &[
            python("print('a\\0b\\x1b[31m\\r\\x7f')"),
            javascript("console.log('a\\0b\\x1b[31m\\r\\x7f')"),
            bash("printf 'a\\0b\\x1b[31m\\r\\x7f\\n'"),
            c("#include <stdio.h>\nint main(void) { fwrite(\"a\\0b\\x1b[31m\\r\\x7f\\n\", 1, 11, stdout); }"),
        ],
        expected: printed("a\0b\u{1b}[31m\r\u{7f}\n"),
    },
    Case {
        name: "output over the cap keeps head and tail",
        given: Given { configuration: CAP, stdin: Input::Letters(10_000), ..NOTHING },
        programs: ECHO,
        expected: Expected {
            stdout: Text::Made(head_and_tail),
            dropped: Dropped { stdout: 5904, stderr: 0 },
            ..SILENT
        },
    },
    Case {
        name: "each stream has a cap of its own",
        given: Given { configuration: CAP, stdin: Input::Letters(10_000), ..NOTHING },
        programs: &[
            python("import sys\ndata = sys.stdin.read()\nsys.stderr.write(data)\nprint('small')"),
            javascript("process.stderr.write(require('node:fs').readFileSync(0)); console.log('small')"),
            bash("cat >&2; echo small"),
            c("#include <stdio.h>\nint main(void) {\n\
               for (int byte; (byte = getchar()) != EOF;) putc(byte, stderr);\n  puts(\"small\"); }"),
        ],
        expected: Expected {
            stdout: Text::Is("small\n"),
            stderr: Text::Made(head_and_tail),
            dropped: Dropped { stdout: 0, stderr: 5904 },
            ..SILENT
        },
    },
    Case {
        name: "output of exactly the cap is kept whole",
        given: Given { configuration: CAP, stdin: Input::Letters(4096), ..NOTHING },
        programs: ECHO,
        expected: Expected { stdout: Text::Made(whole_cap), ..SILENT },
    },
];
