//! Shells and awk.

use super::Finding;
use super::text::{Source, is_blank, last_line, line_number, lines};

/// `main.sh: line 3: message` (bash) or `main.sh: 3: message` (dash), if it is the last thing printed: a shell carries
/// on after most errors, so an earlier one did not end the script.
pub(super) fn shell<'t>(text: &'t str, source: Source<'_>) -> Option<Finding<'t>> {
    let last = last_line(text, |line| !is_blank(line))?;
    let (number, message) = source.located(last.text)?;
    if message.starts_with('`') {
        // bash quotes the offending line below a syntax error.
        let above = last.before.lines().next_back()?;
        let (number, message) = source.located(above)?;
        return Some(Finding::new("SyntaxError", message, Some(number)));
    }
    let kind = if message.starts_with("syntax error") || message.starts_with("Syntax error") {
        "SyntaxError"
    } else if message.ends_with(": command not found") || message.ends_with(": not found") {
        "CommandNotFound"
    } else {
        "Error"
    };
    Some(Finding::new(kind, message, Some(number)))
}

/// `mawk: main.awk: line 2: message` or `gawk: main.awk:2: fatal: message`; gawk shows the code, then a caret and the message.
pub(super) fn awk<'t>(text: &'t str, source: Source<'_>) -> Option<Finding<'t>> {
    let reports = lines(text).filter_map(|line| {
        let (tool, report) = line.text.split_once(": ")?;
        source.located(report).filter(|_| tool.ends_with("awk"))
    });
    let (number, message) = reports.last()?;
    if let Some(message) = message.strip_prefix("^ ") {
        return Some(Finding::new("SyntaxError", message, Some(number)));
    }
    let kind = if message.starts_with("syntax error") { "SyntaxError" } else { "Error" };
    // gawk puts the current record in front: `(FILENAME=- FNR=1) fatal: `.
    let message = message.split_once("fatal: ").map_or(message, |(_, message)| message);
    Some(Finding::new(kind, message, Some(number)))
}

/// PowerShell's concise view: `Kind: /box/main.ps1:3`, `Line |`, the code, and the message after bars below it.
pub(super) fn powershell<'t>(text: &'t str, source: Source<'_>) -> Option<Finding<'t>> {
    let bar = last_line(text, |line| line == "Line |")?;
    let (kind, _) =
        bar.before.lines().next_back()?.split_once(": ").filter(|(_, path)| path.contains(source.name()))?;
    let number = bar.after.lines().next().and_then(|code| line_number(code.trim_start()));
    let below = bar.after.lines().skip(1).filter_map(|line| line.trim_start().strip_prefix('|'));
    let message = below.map(|line| line.trim_start_matches([' ', '~', '^'])).find(|words| !words.is_empty())?;
    Some(Finding::new(kind, message, number.map(|(number, _)| number)))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Tool, found};

    #[test]
    fn shells() {
        let bash = Tool::new("bash", "main.sh");
        bash.run(
            "/box/main.sh: line 4: syntax error: unexpected end of file\n",
            found("SyntaxError", "syntax error: unexpected end of file", 4),
        );
        bash.run(
            "/box/main.sh: line 2: syntax error near unexpected token `)'\n/box/main.sh: line 2: `  echo )'\n",
            found("SyntaxError", "syntax error near unexpected token `)'", 2),
        );
        bash.run(
            "/box/main.sh: eval: line 2: syntax error near unexpected token `)'\n/box/main.sh: eval: line 2: `  echo )'\n",
            found("SyntaxError", "syntax error near unexpected token `)'", 2),
        );
        bash.run(
            "/box/main.sh: line 3: nosuchcommand: command not found\n",
            found("CommandNotFound", "nosuchcommand: command not found", 3),
        );
        bash.run("/box/main.sh: line 2: nope: unbound variable\n", found("Error", "nope: unbound variable", 2));
        bash.run(
            "/box/main.sh: line 1: 1/0: division by 0 (error token is \"0\")\n",
            found("Error", "1/0: division by 0 (error token is \"0\")", 1),
        );
        bash.run("/box/main.sh: line 3: nosuchcommand: command not found\nerror: something\n", None);
        bash.run("cat: /nope: No such file or directory\n", None);
        let dash = Tool::new("sh", "main.sh");
        dash.run(
            "/box/main.sh: 2: Syntax error: \")\" unexpected (expecting \"}\")\n",
            found("SyntaxError", "Syntax error: \")\" unexpected (expecting \"}\")", 2),
        );
        dash.run(
            "/box/main.sh: 3: nosuchcommand: not found\n",
            found("CommandNotFound", "nosuchcommand: not found", 3),
        );
        dash.run("/box/main.sh: 2: nope: parameter not set\n", found("Error", "nope: parameter not set", 2));
        dash.run("error: something\n", None);
    }

    #[test]
    fn awk() {
        let awk = Tool::new("awk", "main.awk");
        awk.run(
            "mawk: /box/main.awk: line 2: syntax error at or near end of line\n",
            found("SyntaxError", "syntax error at or near end of line", 2),
        );
        awk.run(
            "mawk: /box/main.awk: line 5: function nosuch never defined\n",
            found("Error", "function nosuch never defined", 5),
        );
        awk.run(
            "gawk: /box/main.awk:3:   x = 1 +\ngawk: /box/main.awk:3:          ^ unexpected newline or end of string\n",
            found("SyntaxError", "unexpected newline or end of string", 3),
        );
        awk.run(
            "gawk: /box/main.awk:2: fatal: division by zero attempted\n",
            found("Error", "division by zero attempted", 2),
        );
        awk.run("error: noise\n", None);
    }
    // Not captured on the machine used for the rest: the view is as in PowerShell/PowerShell#11377.
    #[test]
    fn powershell() {
        let powershell = Tool::new("powershell", "main.ps1");
        powershell.run(
            "Exception: /box/main.ps1\nLine |\n   5 |  throw 'Oops!'\n     |  ^ Oops!\n",
            found("Exception", "Oops!", 5),
        );
        powershell.run(
            "RuntimeException: /box/main.ps1:2\nLine |\n   2 |  1 / 0\n     |  ~~~~~\n     | Attempted to divide by zero.\n",
            found("RuntimeException", "Attempted to divide by zero.", 2),
        );
        powershell.run("noise\n", None);
    }
}
