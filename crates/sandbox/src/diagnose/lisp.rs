//! Racket, Scheme and Common Lisp.

use super::Finding;
use super::text::{Source, first_line, is_blank, last_line, line_number, lines, or_next_line};

/// The message, indented details, and `context...:`. Racket inlines, so the line is that of the nearest form it kept.
pub(super) fn racket<'t>(text: &'t str, source: Source<'_>) -> Option<Finding<'t>> {
    const UNCAUGHT: &str = "uncaught exception: ";
    let details = last_line(text, |line| matches!(line, "  context...:" | "  location...:"));
    let Some(details) = details else {
        let raised = last_line(text, |line| !is_blank(line))?.text.strip_prefix(UNCAUGHT)?;
        return Some(Finding::new("Uncaught", raised, None));
    };
    let message = last_line(details.before, |line| !line.starts_with(' ') && !is_blank(line))?;
    Some(match source.located(message.text) {
        Some((number, message)) => Finding::new("SyntaxError", message, Some(number)),
        // errortrace gives the expression itself, above the context.
        None => {
            Finding::new("Error", message.text, source.line_in(message.after).or_else(|| source.line_in(details.after)))
        }
    })
}

/// Guile or Chicken.
pub(super) fn scheme<'t>(text: &'t str, source: Source<'_>) -> Option<Finding<'t>> {
    guile(text, source).or_else(|| chicken(text))
}

/// SBCL or CLISP.
pub(super) fn common_lisp<'t>(text: &'t str, _: Source<'_>) -> Option<Finding<'t>> {
    sbcl(text).or_else(|| clisp(text))
}

/// `Unhandled KIND in thread …:`, the message, and a backtrace without places.
fn sbcl(text: &str) -> Option<Finding<'_>> {
    let line = last_line(text, |line| line.starts_with("Unhandled ") && line.contains(" in thread "))?;
    let (kind, _) = line.text.strip_prefix("Unhandled ")?.split_once(" in thread ")?;
    // The thread's name is split over several lines.
    let report = text.strip_prefix(line.before)?.split_once(">:\n")?.1.split("\nBacktrace for: ").next()?;
    let message = first_line(report, |line| !is_blank(line))?;
    let form = report.split_once("(in form starting at line: ").and_then(|(_, form)| line_number(form));
    let number = form.map(|(number, _)| number);
    if message.text.ends_with(':') {
        let more = or_next_line("", message.after);
        return Some(Finding::new(kind, format!("{} {more}", message.text), number));
    }
    Some(Finding::new(kind, message.text, number))
}

/// `*** - message`, split over indented lines.
fn clisp(text: &str) -> Option<Finding<'_>> {
    let line = last_line(text, |line| line.starts_with("*** - "))?;
    let more = first_line(line.after, |line| !line.starts_with(' ')).map_or(line.after, |end| end.before);
    Some(Finding::new("Error", format!("{} {more}", line.text.strip_prefix("*** - ")?), None))
}

/// After the backtrace: `main.scm:2:2: In procedure vector-ref: message`, with `ERROR` in place of a position in some
/// cases, and the message below.
fn guile<'t>(text: &'t str, source: Source<'_>) -> Option<Finding<'t>> {
    const PROCEDURE: &str = "In procedure ";
    if let Some(line) = lines(text).find(|line| line.text.contains(PROCEDURE) && line.text.ends_with(':'))
        && let Some((number, message)) = line.after.lines().next().and_then(|below| source.located(below))
    {
        // A message from the reader.
        return Some(Finding::new("SyntaxError", message, Some(number)));
    }
    let backtrace = last_line(text, |line| line == "Backtrace:")?;
    let line = last_line(backtrace.after, |line| line.contains(PROCEDURE) || line.contains("Throw to key `"))?;
    let number = source.located(line.text).map(|(number, _)| number);
    if let Some((_, thrown)) = line.text.split_once("Throw to key `") {
        let (key, arguments) = thrown.split_once("' with args `")?;
        return Some(Finding::new(key, arguments.trim_end_matches(['.', '\'']), number));
    }
    let (_, procedure) = line.text.split_once(PROCEDURE)?;
    let (_, message) = procedure.split_once(':')?;
    Some(Finding::new("Error", or_next_line(message, line.after), number))
}

/// `Error: message`, then `Call history:` without places; the reader puts a line number in front of its message.
fn chicken(text: &str) -> Option<Finding<'_>> {
    let history = last_line(text, |line| line == "\tCall history:")?;
    let message = last_line(history.before, |line| line.starts_with("Error: "))?.text.strip_prefix("Error: ")?;
    let (number, message) = match message.strip_prefix("(line ").and_then(|rest| rest.split_once(") ")) {
        Some((number, message)) => (line_number(number).map(|(number, _)| number), message),
        None => (None, message),
    };
    Some(Finding::new("Error", message, number))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Tool, found};

    #[test]
    fn racket() {
        let racket = Tool::new("racket", "main.rkt");
        racket.run(
            "main.rkt:2:0: read-syntax: expected a `)` to close `(`\n  possible cause: indentation suggests a missing `)` before line 4\n  context...:\n   /usr/share/racket/collects/syntax/module-reader.rkt:214:17: body\n",
            found("SyntaxError", "read-syntax: expected a `)` to close `(`", 2),
        );
        racket.run(
            "main.rkt:3:3: nosuch: unbound identifier\n  in: nosuch\n  location...:\n   main.rkt:3:3\n",
            found("SyntaxError", "nosuch: unbound identifier", 3),
        );
        racket.run(
            "vector-ref: index is out of range\n  index: 9\n  valid range: [0, 1]\n  vector: '#(1 2)\n  context...:\n   /box/main.rkt:4:0\n   body of \"/box/main.rkt\"\n",
            found("Error", "vector-ref: index is out of range", 4),
        );
        racket.run(
            "noise\n/: division by zero\n  context...:\n   body of \"/box/main.rkt\"\n",
            found("Error", "/: division by zero", 0),
        );
        racket.run("uncaught exception: 'oops\n", found("Uncaught", "'oops", 0));
        racket.run("f: noise\n", None);
    }

    #[test]
    fn guile() {
        let guile = Tool::new("scheme", "main.scm");
        guile.run(
            "ice-9/read.scm:126:4: In procedure lp:\n/box/main.scm:4:1: unexpected end of input while searching for: )\n",
            found("SyntaxError", "unexpected end of input while searching for: )", 4),
        );
        guile.run(
            "Backtrace:\n           3 (primitive-load \"/box/main.scm\")\nIn ice-9/eval.scm:\n   182:19  2 (proc #(#(#<directory (guile-user) 7f114461dc80>) 1))\nIn unknown file:\n           0 (%resolve-variable (7 . nosuch) #<directory (guile-user…>)\n\nERROR: In procedure %resolve-variable:\nUnbound variable: nosuch\n",
            found("Error", "Unbound variable: nosuch", 0),
        );
        guile.run(
            "Backtrace:\n           2 (primitive-load \"/box/main.scm\")\nIn ice-9/eval.scm:\n    159:9  0 (_ _)\n\nice-9/eval.scm:159:9: In procedure vector-ref: Argument 2 out of range: 9\n",
            found("Error", "Argument 2 out of range: 9", 0),
        );
        guile.run(
            "Backtrace:\n           2 (primitive-load \"/box/main.scm\")\n\nice-9/eval.scm:159:9: Throw to key `numerical-overflow' with args `(\"divide\" \"Numerical overflow\" #f #f)'.\n",
            found("numerical-overflow", "(\"divide\" \"Numerical overflow\" #f #f)", 0),
        );
        guile.run("ERROR: noise\n", None);
    }

    #[test]
    fn chicken() {
        let chicken = Tool::new("scheme", "main.scm");
        chicken.run(
            "\nError: (line 4) unterminated list, starting in line 1\n\n\tCall history:\n\n\t<syntax>\t  (##core#quote #f)\t<--\n",
            found("Error", "unterminated list, starting in line 1", 4),
        );
        chicken.run(
            "\nError: bad thing\n1\ny\n\n\tCall history:\n\n\t<eval>\t  [f] (error \"bad thing\" x (quote y))\t<--\n",
            found("Error", "bad thing", 0),
        );
        chicken.run("Error: noise\n", None);
    }

    #[test]
    fn sbcl() {
        let sbcl = Tool::new("lisp", "main.lisp");
        sbcl.run(
            "Unhandled DIVISION-BY-ZERO in thread #<SB-THREAD:THREAD \"main thread\" RUNNING\n                                        {1001348003}>:\n  arithmetic error DIVISION-BY-ZERO signalled\nOperation was (/ 1 0).\n\nBacktrace for: #<SB-THREAD:THREAD \"main thread\" RUNNING {1001348003}>\n0: (SB-KERNEL::INTEGER-/-INTEGER 1 0)\n\nunhandled condition in --disable-debugger mode, quitting\n",
            found("DIVISION-BY-ZERO", "arithmetic error DIVISION-BY-ZERO signalled", 0),
        );
        sbcl.run(
            "Unhandled SB-C::INPUT-ERROR-IN-LOAD in thread #<SB-THREAD:THREAD \"main thread\" RUNNING\n                                                 {1001348003}>:\n  READ error during LOAD:\n\n    end of file on #<SB-SYS:FD-STREAM for \"file /box/main.lisp\" {10013371C3}>\n\n    (in form starting at line: 1, column: 0, file-position: 0)\n\nBacktrace for: #<SB-THREAD:THREAD \"main thread\" RUNNING {1001348003}>\n0: (SB-DEBUG::DEBUGGER-DISABLED-HOOK #<SB-C::INPUT-ERROR-IN-LOAD {1001360463}> #<unused argument> :QUIT T)\n",
            found("SB-C::INPUT-ERROR-IN-LOAD", "READ error during LOAD: end of file on #<SB-SYS:FD-STREAM for \"file /box/main.lisp\" {10013371C3}>", 1),
        );
        sbcl.run("Unhandled noise\n", None);
    }

    #[test]
    fn clisp() {
        let clisp = Tool::new("lisp", "main.lisp");
        clisp.run("*** - /: division by zero\n\n", found("Error", "/: division by zero", 0));
        clisp.run(
            "*** - READ: input stream\n       #<INPUT BUFFERED FILE-STREAM CHARACTER\n         #P\"/box/main.lisp\" @3>\n      ends within an object. Last opening parenthesis probably in line 1.\n",
            found("Error", "READ: input stream #<INPUT BUFFERED FILE-STREAM CHARACTER #P\"/box/main.lisp\" @3> ends within an object. Last opening parenthesis probably in line 1.", 0),
        );
    }
}
