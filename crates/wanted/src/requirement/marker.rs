//! Environment markers (PEP 508), checked and spaced evenly. What they mean is the installer's affair.

const VARIABLES: &[&str] = &[
    "extra",
    "implementation_name",
    "implementation_version",
    "os_name",
    "platform_machine",
    "platform_python_implementation",
    "platform_release",
    "platform_system",
    "platform_version",
    "python_full_version",
    "python_version",
    "sys_platform",
];

/// Longest first.
const OPERATORS: &[&str] = &["===", "==", "~=", "!=", "<=", ">=", "<", ">"];

/// The marker with its parts one space apart; `None` if it is none.
pub(super) fn canonical(text: &str) -> Option<String> {
    let mut marker = Marker { rest: text, parts: Vec::new() };
    let mut depth = 0_usize;
    loop {
        while marker.eat("(") {
            depth += 1;
        }
        let is_left_variable = marker.value()?;
        marker.operator()?;
        let is_right_variable = marker.value()?;
        if !is_left_variable && !is_right_variable {
            return None;
        }
        while depth > 0 && marker.eat(")") {
            depth -= 1;
        }
        if marker.rest.trim_matches(' ').is_empty() {
            return (depth == 0).then(|| marker.parts.join(" "));
        }
        if !marker.eat_word("and") && !marker.eat_word("or") {
            return None;
        }
    }
}

#[derive(Debug)]
struct Marker<'text> {
    rest: &'text str,
    parts: Vec<&'text str>,
}

impl<'text> Marker<'text> {
    fn take(&mut self, length: usize) -> Option<&'text str> {
        let (part, rest) = self.rest.split_at_checked(length)?;
        self.parts.push(part);
        self.rest = rest;
        Some(part)
    }

    fn eat(&mut self, part: &str) -> bool {
        self.rest = self.rest.trim_start_matches(' ');
        self.rest.starts_with(part) && self.take(part.len()).is_some()
    }

    fn eat_word(&mut self, word: &str) -> bool {
        self.rest = self.rest.trim_start_matches(' ');
        let end = self.rest.find(|part: char| !part.is_ascii_alphanumeric() && part != '_').unwrap_or(self.rest.len());
        self.rest.get(..end) == Some(word) && self.take(end).is_some()
    }

    /// A variable or a string; whether it was a variable.
    fn value(&mut self) -> Option<bool> {
        if VARIABLES.iter().any(|variable| self.eat_word(variable)) {
            return Some(true);
        }
        let quote = self.rest.chars().next().filter(|first| matches!(first, '"' | '\''))?;
        let length = self.rest.get(1..)?.find(quote)? + 2;
        let text = self.take(length)?;
        // An escape would mean one thing to us and another to Python.
        (!text.contains('\\')).then_some(false)
    }

    fn operator(&mut self) -> Option<()> {
        let is_operator = OPERATORS.iter().any(|operator| self.eat(operator))
            || self.eat_word("in")
            || (self.eat_word("not") && self.eat_word("in"));
        is_operator.then_some(())
    }
}
