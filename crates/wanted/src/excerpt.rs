use std::fmt;

/// The start of a text that was refused, escaped, so that it can stand in a message or a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Excerpt(String);

impl Excerpt {
    /// The longest excerpt, in characters.
    pub const MAX_LENGTH: usize = 80;

    pub(crate) fn of(text: &str) -> Self {
        // Whole escapes only: half of one would read as something else.
        let mut shown = String::new();
        let mut left = Self::MAX_LENGTH;
        for character in text.chars() {
            let escaped = character.escape_debug();
            let Some(rest) = left.checked_sub(escaped.len()) else { break };
            shown.extend(escaped);
            left = rest;
        }
        Self(shown)
    }
}

impl fmt::Display for Excerpt {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}
