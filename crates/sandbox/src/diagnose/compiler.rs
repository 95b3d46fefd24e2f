//! Messages of compilers that give the place on the same line as the message, or on a line above it.

use super::Finding;
use super::text::{Line, Source, is_blank, lines, or_next_line};

pub(super) const COMPILE_ERROR: &str = "CompileError";

pub(super) const LINK_ERROR: &str = "LinkError";

/// The first error from a compiler that writes `main.c:3:7: error: message`, with the place in any of its spellings,
/// and with or without the label; failing that, the first symbol that a linker could not find.
pub(super) fn diagnostic<'t>(text: &'t str, source: Source<'_>) -> Option<Finding<'t>> {
    let mut unlabelled = None;
    for line in lines(text) {
        if let Some((number, message)) = source.located(line.text) {
            match Severity::of(message) {
                (Severity::Error, message) => return Some(error(message, line, Some(number))),
                (Severity::Unlabelled, message) if unlabelled.is_none() && !is_blank(message) => {
                    unlabelled = Some(Finding::new(COMPILE_ERROR, message, Some(number)));
                }
                (Severity::Unlabelled | Severity::Lesser, _) => {}
            }
        } else if let Some(symbol) = missing_symbol(line.text) {
            return Some(Finding::new(LINK_ERROR, symbol, source.line_in(line.text)));
        } else if let Some((_, message)) =
            line.text.split_once(": error: ").or_else(|| line.text.split_once(": fatal error: "))
        {
            // The error is in a header or a library: use the place where the caller's program brought that in.
            let number = place_of_instantiation(line, source).or_else(|| last_place(line.before, source));
            return Some(Finding::new(COMPILE_ERROR, message, number));
        }
    }
    unlabelled
}

/// The first error that is both labelled and in the caller's program: for tools that compile and run in one step, where
/// anything less certain could have been printed by the program itself.
pub(super) fn own_error<'t>(text: &'t str, source: Source<'_>) -> Option<Finding<'t>> {
    lines(text).find_map(|line| {
        let (number, message) = source.located(line.text)?;
        match Severity::of(message) {
            (Severity::Error, message) => Some(error(message, line, Some(number))),
            (Severity::Lesser | Severity::Unlabelled, _) => None,
        }
    })
}

/// The last message with a place that is not a warning: the best we can do for a run in an unknown language.
pub(super) fn last_located<'t>(text: &'t str, source: Source<'_>) -> Option<Finding<'t>> {
    let errors = lines(text).filter_map(|line| {
        match source.located(line.text).map(|(number, message)| (number, Severity::of(message)))? {
            (number, (Severity::Error | Severity::Unlabelled, message)) => {
                (!is_blank(message)).then(|| Finding::new("Error", message, Some(number)))
            }
            (_, (Severity::Lesser, _)) => None,
        }
    });
    errors.last()
}

/// The first error of a compiler that names the place, shows the code, and only then says `Error: message`: gfortran, OCaml, Crystal.
pub(super) fn place_then_error<'t>(text: &'t str, source: Source<'_>) -> Option<Finding<'t>> {
    let mut number = None;
    for line in lines(text) {
        if let Some(message) = line.text.strip_prefix("Error: ").or_else(|| line.text.strip_prefix("Fatal Error: ")) {
            let mut message = message.replace(" at (1)", "");
            // OCaml breaks long messages and indents what follows.
            for more in line.after.lines().take_while(|more| more.starts_with("  ") && !is_blank(more)).take(8) {
                message.push(' ');
                message.push_str(more.trim());
            }
            return Some(Finding::new(COMPILE_ERROR, message, number));
        } else if line.text.starts_with("Warning") {
            number = None;
        } else if !line.text.starts_with(' ') {
            number = source.line_in(line.text).or(number);
        }
    }
    None
}

/// A symbol that a linker could not find, or found twice, in words: GNU ld, lld and its WebAssembly variant.
pub(super) fn missing_symbol(line: &str) -> Option<&str> {
    ["undefined reference to ", "undefined symbol: ", "duplicate symbol: ", "multiple definition of "]
        .iter()
        .find_map(|words| line.find(words).and_then(|at| line.get(at..)))
}

/// How a compiler labels a message.
#[derive(Clone, Copy)]
enum Severity {
    Error,
    /// A warning, or a note on another message.
    Lesser,
    Unlabelled,
}

impl Severity {
    /// The label of a message, and the message without it. A code is kept:
    /// `error TS2322: message` becomes `TS2322: message`.
    fn of(message: &str) -> (Self, &str) {
        let Some((label, rest)) = message.split_once(':') else {
            return (Self::Unlabelled, message);
        };
        let (word, code) = label.split_once(' ').unwrap_or((label, ""));
        let is = |words: &[&str]| words.iter().any(|wanted| wanted.eq_ignore_ascii_case(word));
        if is(&["warning", "note", "info", "hint", "remark"]) {
            (Self::Lesser, rest.trim())
        } else if !is(&["error", "fatal"]) {
            (Self::Unlabelled, message)
        } else if code.is_empty() || code.eq_ignore_ascii_case("error") {
            (Self::Error, rest.trim())
        } else {
            (Self::Error, message.get(word.len()..).unwrap_or(rest).trim())
        }
    }
}

/// A labelled error, with what its compiler adds on the lines below.
fn error<'t>(message: &'t str, line: Line<'t>, number: Option<u32>) -> Finding<'t> {
    // GHC writes its messages there, as bullet points.
    let first = or_next_line(message, line.after).trim_start_matches("• ");
    let mut details = line.after.lines().take_while(|more| !more.contains(": error: ")).take(8);
    if first == "cannot find symbol" {
        // javac names the symbol after the code.
        let symbol = details.find_map(|more| more.trim().strip_prefix("symbol:")).unwrap_or("");
        return Finding::new(COMPILE_ERROR, format!("{first}: {}", symbol.trim()), number);
    }
    if first.ends_with(';') {
        // scalac continues `type mismatch;` with the two types.
        let is_type = |more: &&str| more.starts_with(" found") || more.starts_with(" required");
        let types: Vec<&str> = details.filter(is_type).collect();
        return Finding::new(COMPILE_ERROR, format!("{first} {}", types.join(",")), number);
    }
    // `dotnet build` ends each message with the project it comes from.
    let project = first.rsplit_once(" [").filter(|(_, project)| project.ends_with("proj]"));
    Finding::new(COMPILE_ERROR, project.map_or(first, |(message, _)| message), number)
}

/// Below an error in a template, clang lists what asked for it, with the caller's program last.
fn place_of_instantiation(error: Line<'_>, source: Source<'_>) -> Option<u32> {
    let notes = error.after.lines().take_while(|line| !line.contains(": error: "));
    notes.filter(|line| line.ends_with("requested here")).find_map(|line| source.line_in(line))
}

/// gcc lists the same above the error, and both list the `#include`s there.
fn last_place(text: &str, source: Source<'_>) -> Option<u32> {
    text.lines().rev().find_map(|line| source.line_in(line))
}

#[cfg(test)]
mod tests {
    use super::super::Step;
    use super::super::tests::{Tool, found};

    #[test]
    fn c() {
        let gcc = Tool::new("c", "main.c");
        gcc.compile(
            r"/box/main.c: In function ‘f’:
/box/main.c:2:22: error: ‘undeclared’ undeclared (first use in this function)
    2 | int f(void) { return undeclared; }
      |                      ^~~~~~~~~~
/box/main.c:2:22: note: each undeclared identifier is reported only once for each function it appears in
/box/main.c: In function ‘main’:
/box/main.c:4:17: error: expected ‘;’ before ‘return’
",
            found("CompileError", "‘undeclared’ undeclared (first use in this function)", 2),
        );
        gcc.compile(
            "/box/main.c:2:10: fatal error: nosuch.h: No such file or directory\n    2 | #include <nosuch.h>\n      |          ^~~~~~~~~~\ncompilation terminated.\n",
            found("CompileError", "nosuch.h: No such file or directory", 2),
        );
        gcc.compile(
            "/usr/bin/ld: /tmp/ccWb0us5.o: in function `main':\nmain.c:(.text+0xa): undefined reference to `g'\ncollect2: error: ld returned 1 exit status\n",
            found("LinkError", "undefined reference to `g'", 0),
        );
        gcc.compile(
            "wasm-ld: error: /tmp/main-62bf3f.o: undefined symbol: g\n",
            found("LinkError", "undefined symbol: g", 0),
        );
    }

    #[test]
    fn an_error_in_a_template_is_where_the_caller_used_it() {
        let tool = Tool::new("cpp", "main.cpp");
        // g++ 12.2, shortened.
        tool.compile(
            r"In file included from /usr/include/c++/12/bits/stl_algobase.h:71,
                 from /usr/include/c++/12/vector:60,
                 from /box/main.cpp:1:
/usr/include/c++/12/bits/predefined_ops.h: In instantiation of ‘constexpr bool __gnu_cxx::__ops::_Iter_less_iter::operator()(_Iterator1, _Iterator2) const’:
/usr/include/c++/12/bits/stl_algo.h:4820:18:   required from ‘void std::sort(_RAIter, _RAIter)’
/box/main.cpp:7:12:   required from here
/usr/include/c++/12/bits/predefined_ops.h:45:23: error: no match for ‘operator<’ (operand types are ‘A’ and ‘A’)
",
            found("CompileError", "no match for ‘operator<’ (operand types are ‘A’ and ‘A’)", 7),
        );
        // clang 22.1, shortened.
        tool.compile(
            r"In file included from main.cpp:1:
In file included from /usr/include/c++/v1/vector:312:
/usr/include/c++/v1/__algorithm/comp.h:42:18: error: invalid operands to binary expression ('const A' and 'const A')
   42 |     return __lhs < __rhs;
      |            ~~~~~ ^ ~~~~~
/usr/include/c++/v1/__algorithm/sort.h:951:8: note: in instantiation of function template specialization 'std::sort<std::__wrap_iter<A *>, std::__less<void, void>>' requested here
  951 |   std::sort(__first, __last, __less<>());
      |        ^
main.cpp:6:8: note: in instantiation of function template specialization 'std::sort<std::__wrap_iter<A *>>' requested here
    6 |   std::sort(v.begin(), v.end());
      |        ^
",
            found("CompileError", "invalid operands to binary expression ('const A' and 'const A')", 6),
        );
    }

    #[test]
    fn labelled_messages() {
        Tool::new("nim", "main.nim").compile(
            "/box/main.nim(3, 10) Error: type mismatch: got 'string' for '\"x\"' but expected 'int'\n",
            found("CompileError", "type mismatch: got 'string' for '\"x\"' but expected 'int'", 3),
        );
        Tool::new("d", "main.d").compile(
            "/box/main.d(2): Error: cannot implicitly convert expression `\"x\"` of type `string` to `int`\n/box/main.d(3): Error: undefined identifier `nope`\n",
            found(
                    "CompileError",
                    "cannot implicitly convert expression `\"x\"` of type `string` to `int`",
                    2,
                ),
        );
        Tool::new("d", "main.d").compile(
            "/box/main.d:2:16: error: expression expected, not ‘;’\n    2 |   int x = (1 + ;\n      |                ^\n",
            found("CompileError", "expression expected, not ‘;’", 2),
        );
        Tool::new("coffeescript", "main.coffee").compile(
            "/box/main.coffee:3:3: error: unexpected if\n  if\n  ^^\n",
            found("CompileError", "unexpected if", 3),
        );
        Tool::new("haskell", "main.hs").compile(
            "\n/box/main.hs:3:7: error:\n    • Couldn't match expected type ‘[Char]’ with actual type ‘Int’\n    • In the first argument of ‘(++)’, namely ‘x’\n  |\n3 | f x = x ++ \"a\"\n  |       ^\n",
            found(
                    "CompileError",
                    "Couldn't match expected type ‘[Char]’ with actual type ‘Int’",
                    3,
                ),
        );
        Tool::new("haskell", "main.hs").compile(
            "\n/box/main.hs:3:3: error:\n    parse error (possibly incorrect indentation or mismatched brackets)\n  |\n3 |   print x\n  |   ^\n",
            found(
                    "CompileError",
                    "parse error (possibly incorrect indentation or mismatched brackets)",
                    3,
                ),
        );
    }

    #[test]
    fn labelled_messages_of_the_jvm_and_dotnet() {
        Tool::new("java", "Main.java").compile(
            "/box/Main.java:2: error: incompatible types: String cannot be converted to int\n    static int f() { return \"x\"; }\n                            ^\n2 errors\n",
            found(
                    "CompileError",
                    "incompatible types: String cannot be converted to int",
                    2,
                ),
        );
        Tool::new("java", "Main.java").compile(
            "/box/Main.java:4: error: cannot find symbol\n        System.out.println(f() + nope);\n                                 ^\n  symbol:   variable nope\n  location: class Main\n1 error\n",
            found("CompileError", "cannot find symbol: variable nope", 4),
        );
        Tool::new("kotlin", "main.kt").compile(
            "OpenJDK 64-Bit Server VM warning: Options -Xverify:none and -noverify were deprecated in JDK 13 and will likely be removed in a future release.\nmain.kt:3:12: error: type mismatch: inferred type is String but Int was expected\n    return \"x\"\n           ^\n",
            found(
                    "CompileError",
                    "type mismatch: inferred type is String but Int was expected",
                    3,
                ),
        );
        Tool::new("scala", "Main.scala").compile(
            "/box/Main.scala:2: error: type mismatch;\n found   : String(\"x\")\n required: Int\n  def f(): Int = \"x\"\n                 ^\n",
            found("CompileError", "type mismatch; found : String(\"x\"), required: Int", 2),
        );
        Tool::new("csharp", "main.cs").compile(
            "/box/main.cs(3,29): error CS0029: Cannot implicitly convert type `string' to `int'\n/box/main.cs(4,62): error CS0103: The name `nope' does not exist in the current context\n",
            found(
                    "CompileError",
                    "CS0029: Cannot implicitly convert type `string' to `int'",
                    3,
                ),
        );
        Tool::new("csharp", "main.cs").compile(
            "/box/main.cs(3,29): error CS0029: Cannot implicitly convert type 'string' to 'int' [/build/program.csproj]\n",
            found("CompileError", "CS0029: Cannot implicitly convert type 'string' to 'int'", 3),
        );
    }

    #[test]
    fn unlabelled_messages() {
        let go = Tool::new("go", "main.go");
        go.compile(
            "# command-line-arguments\n./main.go:3:8: imported and not used: \"os\"\n./main.go:4:23: cannot use \"x\" (untyped string constant) as int value in return statement\n",
            found("CompileError", "imported and not used: \"os\"", 3),
        );
        go.compile(
            "go: finding module for package github.com/nope/nope\nmain.go:2:8: cannot find module providing package github.com/nope/nope\n",
            found("CompileError", "cannot find module providing package github.com/nope/nope", 2),
        );
    }

    #[test]
    fn compilers_that_write_to_standard_output() {
        let pascal = Tool::new("pascal", "main.pas");
        pascal.check(
            Step::Compile,
            "",
            r#"Free Pascal Compiler version 3.2.2+dfsg-20 [2023/03/30] for x86_64
Copyright (c) 1993-2021 by Florian Klaempfl and others
Target OS: Linux for x86-64
Compiling /box/main.pas
main.pas(4,8) Error: Incompatible types: got "Constant String" expected "SmallInt"
main.pas(5,11) Error: Identifier not found "nope"
main.pas(7) Fatal: There were 2 errors compiling module, stopping
Fatal: Compilation aborted
Error: /usr/bin/ppcx64 returned an error exitcode
"#,
            found("CompileError", r#"Incompatible types: got "Constant String" expected "SmallInt""#, 4),
        );
        let erlc = Tool::new("erlang", "main.erl");
        erlc.check(
            Step::Compile,
            "",
            "main.erl:4:9: function nope/1 undefined\n%    4|     X = nope(1),\n%     |         ^\n\nmain.erl:4:5: Warning: variable 'X' is unused\n",
            found("CompileError", "function nope/1 undefined", 4),
        );
    }

    #[test]
    fn places_above_the_message() {
        let fortran = Tool::new("fortran", "main.f90");
        fortran.compile(
            "/box/main.f90:4:7:\n\n    4 |   x = y + 1\n      |       1\nError: Symbol ‘y’ at (1) has no IMPLICIT type\n",
            found("CompileError", "Symbol ‘y’ has no IMPLICIT type", 4),
        );
        let ocaml = Tool::new("ocaml", "main.ml");
        ocaml.compile(
            r#"File "/box/main.ml", line 2, characters 25-28:
2 | let () = print_string (f "a")
                             ^^^
Error: This expression has type string but an expression was expected of type
         int
"#,
            found("CompileError", "This expression has type string but an expression was expected of type int", 2),
        );
        let crystal = Tool::new("crystal", "main.cr");
        crystal.compile(
            "\u{1b}[2mShowing last frame. Use --error-trace for full trace.\u{1b}[0m\n\nIn \u{1b}[4mmain.cr:2:5\u{1b}[0m\n\n\u{1b}[2m 2 | \u{1b}[0m\u{1b}[1mx.nosuch\u{1b}[0m\n       \u{1b}[32;1m^-----\u{1b}[0m\n\u{1b}[33;1mError: undefined method 'nosuch' for Int32\u{1b}[0m\n",
            found("CompileError", "undefined method 'nosuch' for Int32", 2),
        );
    }
}
