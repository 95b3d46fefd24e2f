//! Signs that a program is written in a certain language, and how to find them in an [`Outline`].

use super::outline::{Outline, Text};

/// One sign. Lists hold alternatives. Lines are compared without indentation and trailing space.
#[derive(Debug)]
pub(super) enum Pattern {
    /// A line begins with one of these.
    Starts(&'static [&'static str]),
    /// A line is one of these.
    Is(&'static [&'static str]),
    /// A line begins with the first and ends with the second.
    Spans(&'static str, &'static str),
    /// A line begins with the first and has the second somewhere after it.
    Holds(&'static str, &'static str),
    /// The text has one of these anywhere.
    Has(&'static [&'static str]),
    /// The text has one of these as a separate word.
    Word(&'static [&'static str]),
    /// The text has one of these, strings and comments included: for how a language puts values into strings.
    Quoted(&'static [&'static str]),
    /// Its comment lines begin with this.
    Comment(&'static str),
    /// A line, with its indentation, passes this test.
    Line(fn(&str) -> bool),
    /// The same, ignoring case; the inner pattern is in lower case.
    AnyCase(&'static Self),
}

impl Pattern {
    pub(super) fn is_in(&self, outline: &Outline<'_>) -> bool {
        match self {
            Self::Quoted(parts) => parts.iter().any(|part| outline.raw.contains(part)),
            Self::Comment(marker) => outline.comments.contains(marker),
            Self::AnyCase(pattern) => pattern.is_in_text(&outline.lowered),
            Self::Starts(_)
            | Self::Is(_)
            | Self::Spans(..)
            | Self::Holds(..)
            | Self::Has(_)
            | Self::Word(_)
            | Self::Line(_) => self.is_in_text(&outline.text),
        }
    }

    fn is_in_text(&self, text: &Text<'_>) -> bool {
        let mut lines = text.trimmed.iter();
        match self {
            Self::Starts(starts) => lines.any(|line| starts.iter().any(|start| line.starts_with(start))),
            Self::Is(wholes) => lines.any(|line| wholes.contains(line)),
            Self::Spans(start, end) => {
                lines.any(|line| line.strip_prefix(start).is_some_and(|rest| rest.ends_with(end)))
            }
            Self::Holds(start, part) => {
                lines.any(|line| line.strip_prefix(start).is_some_and(|rest| rest.contains(part)))
            }
            Self::Has(parts) => parts.iter().any(|part| text.whole.contains(part)),
            Self::Word(words) => words.iter().any(|word| has_word(text.whole, word)),
            Self::Line(passes) => text.lines.iter().any(|line| passes(line)),
            Self::Quoted(_) | Self::Comment(_) | Self::AnyCase(_) => false,
        }
    }
}

fn has_word(text: &str, word: &str) -> bool {
    let is_part = |character: Option<char>| character.is_some_and(|c| c.is_alphanumeric() || c == '_');
    // `int(` must begin a word; what follows its bracket does not matter.
    let joins = |left: Option<char>, right: Option<char>| is_part(left) && is_part(right);
    text.match_indices(word).any(|(at, _)| {
        let (before, from) = text.split_at(at);
        let after = from.strip_prefix(word).unwrap_or("");
        !joins(before.chars().next_back(), word.chars().next())
            && !joins(word.chars().next_back(), after.chars().next())
    })
}

/// `name=value` without spaces, not indented.
pub(super) fn is_shell_assignment(line: &str) -> bool {
    line.split_once('=').is_some_and(|(name, value)| {
        name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            && !value.starts_with(['=', '>', '~', ' '])
            && !value.ends_with([';', ','])
    })
}

/// A well-known command and its arguments; `head = None` is not one.
pub(super) fn is_shell_command(line: &str) -> bool {
    const COMMANDS: &[&str] = &[
        "apt-get", "awk", "cat", "cd", "chmod", "cp", "curl", "date", "find", "git", "grep", "head", "ls", "mkdir",
        "mv", "npm", "pip", "pwd", "rm", "sed", "seq", "sleep", "sort", "source", "sudo", "tail", "tar", "touch",
        "uname", "wc", "wget", "which", "whoami",
    ];
    let mut words = line.split_whitespace();
    words.next().is_some_and(|command| COMMANDS.contains(&command))
        && words.next().is_none_or(|word| !word.starts_with(['=', '+', '(', '<', ':', '*']) && word != "-=")
}

/// `[x for x in …]`, in any brackets.
pub(super) fn is_comprehension(line: &str) -> bool {
    line.split_once(['[', '(', '{'])
        .and_then(|(_, inside)| inside.split_once(" for "))
        .is_some_and(|(_, rest)| rest.contains(" in "))
}

/// `name() {` at the left margin.
pub(super) fn is_shell_function(line: &str) -> bool {
    line.strip_suffix('{').map(str::trim_end).and_then(|line| line.strip_suffix("()")).is_some_and(|name| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
    })
}

/// `def name` or `def name(…)` with nothing after it: no colon, no brace, no `do`.
pub(super) fn is_ruby_method(line: &str) -> bool {
    line.trim().strip_prefix("def ").is_some_and(|rest| {
        let name = rest.split(['(', ' ']).next().unwrap_or("");
        let bare = rest.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '?' | '!' | '.'));
        !name.is_empty() && (bare || rest.ends_with(')')) && !rest.contains(" = ") && !rest.contains(": ")
    })
}

/// `for x in y` or `for i = 1:n` with nothing to open the body.
pub(super) fn is_bare_for(line: &str) -> bool {
    line.trim().strip_prefix("for ").is_some_and(|rest| {
        (rest.contains(" in ") || rest.contains(" = ") || rest.contains('='))
            && !rest.ends_with([':', '{', ';'])
            && !rest.ends_with(" do")
            && !rest.ends_with("then")
            && !rest.starts_with('(')
    })
}

/// `using Name` without a semicolon.
pub(super) fn is_julia_using(line: &str) -> bool {
    line.trim().strip_prefix("using ").is_some_and(|rest| rest.starts_with(char::is_uppercase) && !rest.ends_with(';'))
}

/// `x = [1 2 3]`: numbers with only spaces between them.
pub(super) fn is_spaced_matrix(line: &str) -> bool {
    line.split_once('[').and_then(|(_, rest)| rest.split_once(']')).is_some_and(|(inside, _)| {
        inside.trim().contains(' ')
            && !inside.contains(',')
            && inside.split([' ', ';']).all(|item| item.is_empty() || item.parse::<f64>().is_ok())
    })
}

/// A Sass variable, by whether a semicolon ends it.
pub(super) fn is_sass_variable(line: &str) -> bool {
    is_style_variable(line) && !line.trim_end().ends_with([';', '{', ',', ')'])
}

pub(super) fn is_scss_variable(line: &str) -> bool {
    is_style_variable(line) && line.trim_end().ends_with(';')
}

fn is_style_variable(line: &str) -> bool {
    line.trim().strip_prefix('$').and_then(|rest| rest.split_once(':')).is_some_and(|(name, value)| {
        !name.is_empty()
            && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
            && value.starts_with(' ')
    })
}

pub(super) fn is_sass_property(line: &str) -> bool {
    is_style_property(line) && !line.trim_end().ends_with([';', '{', ',', ':'])
}

pub(super) fn is_scss_property(line: &str) -> bool {
    is_style_property(line) && line.trim_end().ends_with(';')
}

fn is_style_property(line: &str) -> bool {
    const NAMES: &[&str] = &[
        "background",
        "border",
        "bottom",
        "box-shadow",
        "color",
        "cursor",
        "display",
        "flex",
        "float",
        "font",
        "font-family",
        "font-size",
        "font-weight",
        "height",
        "left",
        "line-height",
        "margin",
        "max-width",
        "opacity",
        "padding",
        "position",
        "right",
        "text-align",
        "text-decoration",
        "top",
        "transition",
        "width",
        "z-index",
    ];
    line.trim().split_once(": ").is_some_and(|(name, _)| {
        NAMES.iter().any(|known| name.strip_prefix(known).is_some_and(|rest| rest.is_empty() || rest.starts_with('-')))
    })
}

/// `square = (x) -> x * x`: an assigned function without braces or keyword.
pub(super) fn is_coffee_function(line: &str) -> bool {
    let line = line.trim();
    let assigned = line.contains(" = (") || line.contains(": (") || line.contains("= ->") || line.contains(": ->");
    assigned && line.contains(" ->") && !line.contains('{') && !line.starts_with("let ") && !line.starts_with("type ")
}

/// `console.log numbers`: a call without brackets.
pub(super) fn is_coffee_call(line: &str) -> bool {
    line.trim().strip_prefix("console.log ").is_some_and(|rest| !rest.starts_with('('))
}
