//! Source, arguments, environment, errors.

use crate::conformance::case::{
    Case, Code, Ending, Error, Expected, Given, NOTHING, Program, SILENT, Text, bash, c, javascript, printed, python,
};

/// Past what a command line, a pipe's buffer or a single message holds.
const LARGE: usize = 1_200_000;

fn large(comment: &str, program: &str) -> String {
    let line = format!("{comment} {}\n", "-".repeat(70));
    line.repeat(LARGE / line.len() + 1) + program
}

const fn made(language: &'static str, make: fn() -> String) -> Program {
    Program { language, code: Code::Made(make) }
}

const ARGUMENTS: &[&str] = &["--json", "", "two  words", "ü☃漢字🎉", "-x", "--", "a=b", "*", "$HOME", "line\nbreak"];
const ARGUMENTS_PRINTED: &str =
    "[--json]\n[]\n[two  words]\n[ü☃漢字🎉]\n[-x]\n[--]\n[a=b]\n[*]\n[$HOME]\n[line\nbreak]\n";

/// A failure that the program's own language tells: exit code, and the words on standard error.
const fn fails(code: u8, stderr: &'static str, error: Error) -> Expected {
    Expected { ending: Ending::Exit(code), stderr: Text::Has(stderr), error: Some(error), ..SILENT }
}

pub(super) const CASES: &[Case] = &[
    Case {
        name: "hello",
        given: NOTHING,
        programs: &[
            python("print('Hello, world!')"),
            javascript("console.log('Hello, world!')"),
            bash("echo 'Hello, world!'"),
            c("#include <stdio.h>\nint main(void) { puts(\"Hello, world!\"); return 0; }"),
        ],
        expected: printed("Hello, world!\n"),
    },
    Case {
        name: "empty output",
        given: NOTHING,
        programs: &[python("pass"), javascript(";"), bash(":"), c("int main(void) { return 0; }")],
        expected: SILENT,
    },
    Case {
        name: "unicode source",
        given: NOTHING,
        programs: &[
            python("größe = 'héllo ☃ 漢字 🎉'\nprint(größe, len(größe))"),
            javascript("const größe = 'héllo ☃ 漢字 🎉';\nconsole.log(größe, [...größe].length);"),
            bash("size='héllo ☃ 漢字 🎉'\necho \"$size ${#size}\""),
            c("#include <locale.h>\n#include <stdio.h>\n#include <wchar.h>\nint main(void) {\n\
               setlocale(LC_ALL, \"\"); const wchar_t *size = L\"héllo ☃ 漢字 🎉\";\n\
               printf(\"%ls %zu\\n\", size, wcslen(size)); }"),
        ],
        expected: printed("héllo ☃ 漢字 🎉 12\n"),
    },
    Case {
        name: "lines that end in CR LF",
        given: NOTHING,
        programs: &[
            python("if True:\r\n    print('one')\r\nprint('two')\r\n"),
            javascript("if (true) {\r\n  console.log('one')\r\n}\r\nconsole.log('two')\r\n"),
            c("#include <stdio.h>\r\nint main(void) {\r\n  puts(\"one\");\r\n  puts(\"two\");\r\n}\r\n"),
        ],
        expected: printed("one\ntwo\n"),
    },
    Case {
        name: "a Markdown fence around it",
        given: NOTHING,
        programs: &[
            python("```python\nif True:\n    print('inside')\n```\n"),
            javascript("~~~js\nconsole.log('inside')\n~~~"),
            bash("\n```\necho inside\n```\n"),
            c("```c\n#include <stdio.h>\nint main(void) { puts(\"inside\"); }\n```"),
        ],
        expected: printed("inside\n"),
    },
    Case {
        name: "no newline at its end, and a blank line before it",
        given: NOTHING,
        programs: &[
            python("\n\nprint('x')"),
            javascript("\n\nconsole.log('x')"),
            bash("\n\necho x"),
            c("\n\n#include <stdio.h>\nint main(void) { puts(\"x\"); }"),
        ],
        expected: printed("x\n"),
    },
    Case {
        name: "more than a megabyte of it",
        given: NOTHING,
        programs: &[
            made("python", || large("#", "print('end')")),
            made("javascript", || large("//", "console.log('end')")),
            made("bash", || large("#", "echo end")),
            made("c", || large("//", "#include <stdio.h>\nint main(void) { puts(\"end\"); }")),
        ],
        expected: printed("end\n"),
    },
    Case {
        name: "arguments",
        given: Given { args: ARGUMENTS, ..NOTHING },
        programs: &[
            python("import sys\nfor argument in sys.argv[1:]: print(f'[{argument}]')"),
            javascript("for (const argument of process.argv.slice(2)) console.log(`[${argument}]`)"),
            bash("for argument in \"$@\"; do echo \"[$argument]\"; done"),
            c("#include <stdio.h>\nint main(int count, char **arguments) {\n\
               for (int i = 1; i < count; i++) printf(\"[%s]\\n\", arguments[i]); }"),
        ],
        expected: printed(ARGUMENTS_PRINTED),
    },
    Case {
        name: "environment variables",
        given: Given { env: &["GREETING=héllo = \"world\"", "EMPTY=", "HOME=/elsewhere"], ..NOTHING },
        programs: &[
            python("import os\nfor name in 'GREETING', 'EMPTY', 'HOME': print(f'[{os.environ[name]}]')"),
            javascript("for (const name of ['GREETING', 'EMPTY', 'HOME']) console.log(`[${process.env[name]}]`)"),
            bash("set -u; echo \"[$GREETING]\"; echo \"[$EMPTY]\"; echo \"[$HOME]\""),
            c("#include <stdio.h>\n#include <stdlib.h>\nint main(void) {\n\
               printf(\"[%s]\\n[%s]\\n[%s]\\n\", getenv(\"GREETING\"), getenv(\"EMPTY\"), getenv(\"HOME\")); }"),
        ],
        expected: printed("[héllo = \"world\"]\n[]\n[/elsewhere]\n"),
    },
    Case {
        name: "an uncaught exception (python)",
        given: NOTHING,
        programs: &[python("def pick(numbers):\n    return numbers[7]\n\n\npick([1])\n")],
        expected: fails(
            1,
            "Traceback (most recent call last):",
            Error { kind: "IndexError", message: "list index out of range", line: Some(2) },
        ),
    },
    Case {
        name: "an uncaught exception (javascript)",
        given: NOTHING,
        programs: &[javascript("const basket = null;\n\nconsole.log(basket.total);\n")],
        expected: fails(
            1,
            "basket.total",
            Error { kind: "TypeError", message: "Cannot read properties of null (reading 'total')", line: Some(3) },
        ),
    },
    Case {
        name: "a command that is not there (bash)",
        given: NOTHING,
        programs: &[bash("set -e\n\nno-such-command\necho unreached\n")],
        expected: fails(
            127,
            "no-such-command: command not found",
            Error { kind: "CommandNotFound", message: "no-such-command: command not found", line: Some(3) },
        ),
    },
    Case {
        name: "a syntax error (python)",
        given: NOTHING,
        programs: &[python("print('unreached')\ndef pick(:\n    pass\n")],
        expected: fails(
            1,
            "SyntaxError: invalid syntax",
            Error { kind: "SyntaxError", message: "invalid syntax", line: Some(2) },
        ),
    },
    Case {
        name: "a syntax error (javascript)",
        given: NOTHING,
        programs: &[javascript("console.log('unreached');\nconst pick = ;\n")],
        expected: fails(
            1,
            "const pick = ;",
            Error { kind: "SyntaxError", message: "Unexpected token ';'", line: Some(2) },
        ),
    },
    Case {
        name: "a syntax error (bash)",
        given: NOTHING,
        programs: &[bash(": reads as it goes\nif then\n")],
        expected: fails(
            2,
            "syntax error near unexpected token",
            Error { kind: "SyntaxError", message: "syntax error near unexpected token `then'", line: Some(2) },
        ),
    },
    Case {
        name: "a compiler's error (c)",
        given: NOTHING,
        programs: &[c("int main(void) {\n    int sum = 0;\n    return basket + sum;\n}\n")],
        expected: fails(
            1,
            "main.c:3",
            Error {
                kind: "CompileError", message: "‘basket’ undeclared (first use in this function)", line: Some(3)
            },
        ),
    },
    Case {
        name: "a failed assertion (c)",
        given: NOTHING,
        programs: &[c("#include <assert.h>\n\nint main(void) {\n    assert(1 == 2);\n}\n")],
        expected: Expected {
            ending: Ending::Signal("SIGABRT"),
            stderr: Text::Has("Assertion `1 == 2' failed."),
            error: Some(Error { kind: "AssertionFailed", message: "1 == 2", line: Some(4) }),
            ..SILENT
        },
    },
];
