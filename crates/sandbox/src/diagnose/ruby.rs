//! Ruby's backtraces.

use super::Finding;
use super::text::{Line, Source, lines};

/// The first error in the text: its causes, which Ruby prints below it, look the same.
pub(super) fn traceback<'t>(text: &'t str, source: Source<'_>) -> Option<Finding<'t>> {
    lines(text).find_map(|line| raised(line, source).or_else(|| unparsable(line, source)))
}

/// `main.rb:2:in 'f': message (Kind)`; before 3.4 the method's name opened with a backquote.
fn raised<'t>(line: Line<'t>, source: Source<'_>) -> Option<Finding<'t>> {
    let (place, rest) = line.text.split_once(":in `").or_else(|| line.text.split_once(":in '"))?;
    if line.text.starts_with(char::is_whitespace) {
        return None;
    }
    let (_, message) = rest.split_once("': ")?;
    let number = source.line_in(place).or_else(|| source.line_in(line.after));
    let Some((message, kind)) = message.strip_suffix(')').and_then(|message| message.rsplit_once(" (")) else {
        // With an empty message, only the kind is printed.
        return Some(Finding::new(message, "", number));
    };
    // `eval` makes the place of a syntax error part of the message.
    Some(match source.located(message) {
        Some((number, message)) => Finding::new(kind, syntax_message(message, line.after), Some(number)),
        None => Finding::new(kind, message, number),
    })
}

/// `main.rb:2: syntax error, unexpected …`, or `main.rb:2: syntax errors found (SyntaxError)`.
fn unparsable<'t>(line: Line<'t>, source: Source<'_>) -> Option<Finding<'t>> {
    let (number, message) = source.located(line.text)?;
    let found = message.strip_prefix("syntax error")?;
    let message = found.strip_prefix(", ").unwrap_or_else(|| syntax_message(message, line.after));
    Some(Finding::new("SyntaxError", message.strip_suffix(" (SyntaxError)").unwrap_or(message), Some(number)))
}

/// The words under the first marked line of code, where Ruby 3.4 and later put them.
fn syntax_message<'t>(message: &'t str, after: &'t str) -> &'t str {
    let mut marked = after.lines().take(64).filter_map(|line| line.trim_start().strip_prefix('|'));
    let words = marked.find_map(|line| line.trim_start().strip_prefix('^'));
    words.map_or(message, |words| words.trim_start_matches(['^', '~', ' ']))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Tool, found};

    const RUBY: Tool = Tool::new("ruby", "main.rb");

    #[test]
    fn exceptions() {
        RUBY.run(
            "/box/main.rb:2:in `f': undefined method `upcasee' for \"a\":String (NoMethodError)\n\n  x.upcasee\n   ^^^^^^^^\nDid you mean?  upcase\n               upcase!\n\tfrom /box/main.rb:4:in `<main>'\n",
            found("NoMethodError", "undefined method `upcasee' for \"a\":String", 2),
        );
        RUBY.run(
            "/box/main.rb:2:in 'Object#f': undefined method 'upcasee' for an instance of String (NoMethodError)\n\tfrom /box/main.rb:4:in '<main>'\n",
            found("NoMethodError", "undefined method 'upcasee' for an instance of String", 2),
        );
        RUBY.run(
            "/usr/lib/ruby/3.1.0/json/common.rb:216:in `parse': 859: unexpected token at '{oops' (JSON::ParserError)\n\tfrom /usr/lib/ruby/3.1.0/json/common.rb:216:in `parse'\n\tfrom /box/main.rb:3:in `f'\n\tfrom /box/main.rb:5:in `<main>'\n",
            found("JSON::ParserError", "859: unexpected token at '{oops'", 3),
        );
        RUBY.run(
            "<internal:/usr/lib/ruby/vendor_ruby/rubygems/core_ext/kernel_require.rb>:85:in `require': cannot load such file -- nosuch (LoadError)\n\tfrom <internal:/usr/lib/ruby/vendor_ruby/rubygems/core_ext/kernel_require.rb>:85:in `require'\n\tfrom /box/main.rb:1:in `<main>'\n",
            found("LoadError", "cannot load such file -- nosuch", 1),
        );
        RUBY.run("/box/main.rb:2:in `<main>': E\n", found("E", "", 2));
    }

    #[test]
    fn a_chain_is_its_first_exception() {
        RUBY.run(
            "/box/main.rb:6:in `rescue in f': outer (MyError)\nmore\n\tfrom /box/main.rb:2:in `f'\n\tfrom /box/main.rb:9:in `<main>'\n/box/main.rb:4:in `/': divided by 0 (ZeroDivisionError)\n\tfrom /box/main.rb:4:in `f'\n\tfrom /box/main.rb:9:in `<main>'\n",
            found("MyError", "outer", 6),
        );
    }

    #[test]
    fn syntax_errors() {
        RUBY.run(
            "/box/main.rb:4: syntax error, unexpected end-of-input, expecting `end'\n",
            found("SyntaxError", "unexpected end-of-input, expecting `end'", 4),
        );
        // Ruby 4.0, from the program itself and through `eval`.
        let code = "  2 |   if x\n  3 |     1\n> 4 | end\n    |    ^ unexpected end-of-input, assuming it is closing the parent top level context\n> 5 | \n    | ^ expected an `end` to close the `def` statement\n";
        let expected =
            || found("SyntaxError", "unexpected end-of-input, assuming it is closing the parent top level context", 4);
        RUBY.run(&format!("/box/main.rb:4: syntax errors found (SyntaxError)\n{code}"), expected());
        RUBY.run(&format!("eval:1:in 'Binding#eval': /box/main.rb:4: syntax errors found (SyntaxError)\n{code}\n\tfrom eval:1:in '<main>'\n"), expected());
    }

    #[test]
    fn leaving_is_not_an_error() {
        RUBY.run("main.rb:1: warning thing (Noise)\n", None);
        RUBY.run("it failed\n", None);
    }
}
