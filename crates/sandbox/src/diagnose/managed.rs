//! Stack traces of the JVM's languages, of .NET and of Dart.

use super::Finding;
use super::compiler::{self, COMPILE_ERROR};
use super::text::{Line, Source, exception, first_line, last_line, or_next_line};

/// `Exception in thread "main" Kind: message` from java; the same without the thread from scala's runner.
pub(super) fn jvm<'t>(text: &'t str, source: Source<'_>) -> Option<Finding<'t>> {
    const THREAD: &str = "Exception in thread \"";
    const LAUNCHER: &[&str] = &["Error: Main method ", "Error: Could not find or load "];
    const RUNNERS: &[&str] = &["\tat scala.tools.nsc.", "\tat dotty.tools."];
    if let Some(line) = last_line(text, |line| line.starts_with(THREAD)) {
        let (_, thrown) = line.text.strip_prefix(THREAD)?.split_once("\" ")?;
        return stack_trace(thrown, line.after, source);
    }
    // `scala main.scala` and `java Main.java` compile first.
    if let Some(error) = compiler::own_error(text, source) {
        return Some(error);
    }
    if let Some(launcher) = first_line(text, |line| LAUNCHER.iter().any(|start| line.starts_with(start))) {
        return Some(Finding::new("Error", launcher.text.strip_prefix("Error: ")?, None));
    }
    // A program can print such a trace and carry on. Only the runner's own frames below it show that nobody caught it.
    first_line(text, |line| RUNNERS.iter().any(|runner| line.starts_with(runner)))?;
    let stack = first_line(text, |line| line.starts_with("\tat "))?;
    let is_class = |kind: &str| kind.contains('.') || kind.ends_with("Error") || kind.ends_with("Exception");
    let mut above = stack.before.lines().rev().take(16);
    let thrown = above.find(|line| exception(line).is_some_and(|(kind, _)| is_class(kind)))?;
    stack_trace(thrown, text.strip_prefix(stack.before)?, source)
}

/// Groovy prints what it caught, then the trace; a program that does not compile raises an exception of its own.
pub(super) fn groovy<'t>(text: &'t str, source: Source<'_>) -> Option<Finding<'t>> {
    if let Some(line) = first_line(text, |line| line.ends_with("MultipleCompilationErrorsException: startup failed:")) {
        let (number, message) = line.after.lines().find_map(|line| source.located(line))?;
        let message = message.split_once(" @ line ").map_or(message, |(message, _)| message);
        return Some(Finding::new(COMPILE_ERROR, message, Some(number)));
    }
    let line = last_line(text, |line| line.starts_with("Caught: "))?;
    let thrown = line.text.strip_prefix("Caught: ")?;
    if let Some(message) = thrown.strip_prefix("Assertion failed:") {
        return Some(Finding::new("AssertionFailed", or_next_line(message, line.after), source.line_in(line.after)));
    }
    // Without a frame it is something that the program printed.
    first_line(line.after, |line| line.starts_with("\tat "))?;
    stack_trace(thrown, line.after, source)
}

/// `Execution error (Kind) at user/f (main.clj:2).`, then the message.
pub(super) fn clojure<'t>(text: &'t str, source: Source<'_>) -> Option<Finding<'t>> {
    let phases = ["Execution error ", "Syntax error ", "Unexpected error "];
    let line = last_line(text, |line| {
        phases.iter().any(|phase| line.starts_with(phase)) && line.ends_with(").") && line.contains(" at ")
    })?;
    let kind = match line.text.split_once(" error (").and_then(|(_, rest)| rest.split_once(") ")) {
        Some((kind, _)) => kind,
        None if line.text.starts_with("Syntax error reading ") => "SyntaxError",
        None => COMPILE_ERROR,
    };
    Some(Finding::new(kind, or_next_line("", line.after), source.line_in(line.text)))
}

/// `Unhandled Exception:` and the exception below it (mono), or on the same line (.NET).
pub(super) fn dotnet<'t>(text: &'t str, source: Source<'_>) -> Option<Finding<'t>> {
    const INNER: &str = "--- End of inner exception stack trace ---";
    let line = last_line(text, |line| line == "Unhandled Exception:" || line.starts_with("Unhandled exception. "))?;
    let thrown = or_next_line(line.text.strip_prefix("Unhandled exception. ").unwrap_or(""), line.after);
    // The exception that caused it follows on the same line, and its frames come first.
    let (kind, message) = exception(thrown.split(" ---> ").next()?)?;
    let stack = line.after.split("[ERROR] FATAL UNHANDLED EXCEPTION").next()?;
    let frames = stack.rsplit(INNER).next()?;
    Some(Finding::new(kind, message, source.line_in(frames).or_else(|| source.line_in(stack))))
}

/// `Unhandled exception:` and the exception below it, which has a name only if its message starts with one.
pub(super) fn dart<'t>(text: &'t str, source: Source<'_>) -> Option<Finding<'t>> {
    let Some(line) = last_line(text, |line| line == "Unhandled exception:") else {
        return compiler::own_error(text, source);
    };
    let thrown = line.after.lines().next()?;
    let named = thrown.split_once(": ").map(|(kind, message)| (kind.split(" (").next().unwrap_or(kind), message));
    let (kind, message) = named.filter(|(kind, _)| exception(kind).is_some()).unwrap_or(("Exception", thrown));
    Some(Finding::new(kind, message, source.line_in(line.after)))
}

/// A trace that begins with `thrown`: its own frames, or if none of them is the caller's, those of its cause.
fn stack_trace<'t>(thrown: &'t str, after: &'t str, source: Source<'_>) -> Option<Finding<'t>> {
    let (kind, message) = exception(thrown)?;
    let cause = first_line(after, |line| line.starts_with("Caused by: "));
    let frames = cause.map_or(after, |cause| cause.before);
    let line = source.line_in(frames).or_else(|| source.line_in(after));
    Some(match (message, cause) {
        // An exception without a message of its own only wraps another.
        ("", Some(Line { text, .. })) => Finding::new(kind, text, line),
        _ => Finding::new(kind, message, line),
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Tool, found};
    use crate::GuestError;

    #[test]
    fn java() {
        let java = Tool::new("java", "Main.java");
        java.run(
            "Exception in thread \"main\" java.lang.NumberFormatException: For input string: \"x\"\n\tat java.base/java.lang.NumberFormatException.forInputString(NumberFormatException.java:67)\n\tat java.base/java.lang.Integer.parseInt(Integer.java:668)\n\tat Main.f(Main.java:3)\n\tat Main.main(Main.java:6)\n",
            found("java.lang.NumberFormatException", "For input string: \"x\"", 3),
        );
        java.run(
            "Exception in thread \"main\" Main$Bad: could not\nread\n\tat Main.f(Main.java:6)\n\tat Main.main(Main.java:9)\nCaused by: java.lang.NullPointerException: Cannot invoke \"Object.toString()\" because \"<local0>\" is null\n\tat Main.f(Main.java:4)\n\t... 1 more\n",
            found("Main$Bad", "could not", 6),
        );
        java.run(
            "Exception in thread \"main\" java.lang.ExceptionInInitializerError\nCaused by: java.lang.ArithmeticException: / by zero\n\tat Main.<clinit>(Main.java:1)\n",
            found("java.lang.ExceptionInInitializerError", "Caused by: java.lang.ArithmeticException: / by zero", 1),
        );
        java.run(
            "Exception in thread \"worker one\" java.lang.RuntimeException: in thread\n\tat Main.lambda$main$0(Main.java:2)\n\tat java.base/java.lang.Thread.run(Thread.java:840)\n",
            found("java.lang.RuntimeException", "in thread", 2),
        );
        java.run(
            "Error: Main method not found in class Main, please define the main method as:\n   public static void main(String[] args)\nor a JavaFX application class must extend javafx.application.Application\n",
            found("Error", "Main method not found in class Main, please define the main method as", 0),
        );
        java.run(
            "/box/Main.java:3: error: incompatible types: String cannot be converted to int\n        int x = \"s\";\n                ^\n1 error\nerror: compilation failed\n",
            found("CompileError", "incompatible types: String cannot be converted to int", 3),
        );
        java.run("java.lang.IllegalStateException: handled\n\tat Main.main(Main.java:3)\n", None);
        let memory =
            "Exception in thread \"main\" java.lang.OutOfMemoryError: Java heap space\n\tat Main.main(Main.java:1)\n";
        let hint = Some(super::super::MEMORY_HINT.to_owned());
        java.run(
            memory,
            found("java.lang.OutOfMemoryError", "Java heap space", 1).map(|error| GuestError { hint, ..error }),
        );
    }

    #[test]
    fn a_stack_overflow_of_java_fits_the_window() {
        let frame =
            "\tat com.example.application.service.RecursiveDescentParserImplementation.parseExpression(Main.java:2)\n";
        let stderr = format!("Exception in thread \"main\" java.lang.StackOverflowError\n{}", frame.repeat(1024));
        Tool::new("java", "Main.java").run(&stderr, found("java.lang.StackOverflowError", "", 2));
    }

    #[test]
    fn kotlin() {
        let kotlin = Tool::new("kotlin", "main.kt");
        kotlin.run(
            "Exception in thread \"main\" kotlin.KotlinNullPointerException\n\tat MainKt.f(main.kt:2)\n\tat MainKt.main(main.kt:3)\n\tat MainKt.main(main.kt)\n",
            found("kotlin.KotlinNullPointerException", "", 2),
        );
        kotlin.run("error: noise\n", None);
    }

    #[test]
    fn scala() {
        let scala = Tool::new("scala", "Main.scala");
        scala.run(
            "java.util.NoSuchElementException: head of empty list\n\tat scala.collection.immutable.Nil$.head(List.scala:431)\n\tat Main$.f(Main.scala:3)\n\tat Main$.main(Main.scala:4)\n\tat Main.main(Main.scala)\n\tat java.base/java.lang.reflect.Method.invoke(Method.java:569)\n\tat scala.tools.nsc.CommonRunner$class.run(ObjectRunner.scala:22)\n\tat scala.tools.nsc.MainGenericRunner.main(MainGenericRunner.scala)\n",
            found("java.util.NoSuchElementException", "head of empty list", 3),
        );
        scala.run("error: noise\n", None);
        scala.run(
            "/box/Main.scala:1: error: ')' expected but eof found.\nprintln(\"x\"\n           ^\n",
            found("CompileError", "')' expected but eof found.", 1),
        );
    }

    // Not captured on the machine used for the rest: the trace is as in nerdrew/dart-ctags#10.
    #[test]
    fn dart() {
        let dart = Tool::new("dart", "main.dart");
        dart.run(
            "Unhandled exception:\nRangeError (index): Invalid value: Only valid value is 0: 1\n#0      List.[] (dart:core-patch/growable_array.dart:177:60)\n#1      f (file:///box/main.dart:2:35)\n#2      main (file:///box/main.dart:6:21)\n",
            found("RangeError", "Invalid value: Only valid value is 0: 1", 2),
        );
        dart.run("Unhandled exception:\nBad state: No element\n#0      List.first (dart:core-patch/growable_array.dart:343:5)\n", found("Exception", "Bad state: No element", 0));
        dart.run("noise\n", None);
    }

    #[test]
    fn groovy() {
        let groovy = Tool::new("groovy", "main.groovy");
        groovy.run(
            "org.codehaus.groovy.control.MultipleCompilationErrorsException: startup failed:\n/box/main.groovy: 2: expecting ')', found '+' @ line 2, column 13.\n     return (x +\n               ^\n\n1 error\n\n",
            found("CompileError", "expecting ')', found '+'", 2),
        );
        groovy.run(
            "Caught: java.lang.ArithmeticException: / by zero\njava.lang.ArithmeticException: / by zero\n\tat main.f(main.groovy:2)\n\tat main$f.callCurrent(Unknown Source)\n\tat main.run(main.groovy:5)\n",
            found("java.lang.ArithmeticException", "/ by zero", 2),
        );
        groovy.run(
            "Caught: Assertion failed: \n\nassert x == 2\n       | |\n       1 false\n\nAssertion failed: \n\nassert x == 2\n       | |\n       1 false\n\n\tat main.run(main.groovy:2)\n",
            found("AssertionFailed", "assert x == 2", 2),
        );
        groovy.run("Caught: noise\n", None);
    }

    #[test]
    fn clojure() {
        let clojure = Tool::new("clojure", "main.clj");
        clojure.run(
            "Execution error (ArithmeticException) at user/f (main.clj:2).\nDivide by zero\n\nFull report at:\n/tmp/clojure-15856774849211044606.edn\n",
            found("ArithmeticException", "Divide by zero", 2),
        );
        clojure.run(
            "Syntax error compiling at (main.clj:2:10).\nUnable to resolve symbol: nosuch in this context\n\nFull report at:\n/tmp/clojure-14684116130208250083.edn\n",
            found("CompileError", "Unable to resolve symbol: nosuch in this context", 2),
        );
        clojure.run(
            "Syntax error reading source at (main.clj:4:1).\nEOF while reading, starting at line 1\n\nFull report at:\n/tmp/clojure-14648851572176308648.edn\n",
            found("SyntaxError", "EOF while reading, starting at line 1", 4),
        );
        clojure.run("Execution error: noise\n", None);
    }

    #[test]
    fn csharp() {
        let csharp = Tool::new("csharp", "main.cs");
        csharp.run(
            "\nUnhandled Exception:\nSystem.IndexOutOfRangeException: Index was outside the bounds of the array.\n  at Program.Main () [0x00001] in /box/main.cs:6 \n[ERROR] FATAL UNHANDLED EXCEPTION: System.IndexOutOfRangeException: Index was outside the bounds of the array.\n  at Program.Main () [0x00001] in /box/main.cs:6 \n",
            found("System.IndexOutOfRangeException", "Index was outside the bounds of the array.", 6),
        );
        csharp.run(
            "\nUnhandled Exception:\nMyException: outer\nmore ---> System.FormatException: Input string was not in a correct format.\n  at Program.F () [0x00000] in <08d30771bcfa4e8eb653f14141e0bb22>:0 \n   --- End of inner exception stack trace ---\n  at Program.F () [0x0001c] in <08d30771bcfa4e8eb653f14141e0bb22>:0 \n",
            found("MyException", "outer", 0),
        );
        csharp.run(
            "\nUnhandled Exception:\nMyException: outer ---> System.FormatException: Input string was not in a correct format.\n  at Program.F () [0x00000] in /box/main.cs:5 \n   --- End of inner exception stack trace ---\n  at Program.F () [0x0001c] in /box/main.cs:6 \n  at Program.Main () [0x00000] in /box/main.cs:8 \n",
            found("MyException", "outer", 6),
        );
        csharp.run("Error: noise\n", None);
    }
}
