/// A place in a program's text.
///
/// It moves by bytes. What the tokenizers look for is ASCII, and no byte of a longer character is: whatever lies between two such
/// places is a `str` again.
#[derive(Debug, Clone)]
pub(crate) struct Cursor<'code> {
    code: &'code str,
    at: usize,
}

impl<'code> Cursor<'code> {
    pub(crate) fn new(code: &'code str) -> Self {
        Self { code, at: 0 }
    }

    pub(crate) fn at(&self) -> usize {
        self.at
    }

    pub(crate) fn peek(&self) -> Option<u8> {
        self.code.as_bytes().get(self.at).copied()
    }

    pub(crate) fn bump(&mut self) {
        self.at = self.code.len().min(self.at + 1);
    }

    /// Moves past `text`, if it is next.
    pub(crate) fn eat(&mut self, text: &str) -> bool {
        let is_next = self.code.as_bytes().get(self.at..).is_some_and(|rest| rest.starts_with(text.as_bytes()));
        if is_next {
            self.at += text.len();
        }
        is_next
    }

    /// Moves past a backslash and what it escapes, which may be the end of a line.
    pub(crate) fn eat_escape(&mut self) {
        self.bump();
        if !self.eat("\r\n") {
            self.bump();
        }
    }

    pub(crate) fn eat_while(&mut self, wanted: impl Fn(u8) -> bool) -> &'code str {
        let start = self.at;
        while self.peek().is_some_and(&wanted) {
            self.at += 1;
        }
        self.since(start)
    }

    /// Moves to the end of the line.
    pub(crate) fn skip_line(&mut self) {
        self.eat_while(|byte| byte != b'\n');
    }

    pub(crate) fn since(&self, start: usize) -> &'code str {
        self.code.get(start..self.at).unwrap_or_default()
    }
}

/// Whether a byte can be part of a name in Python or JavaScript. Every character beyond ASCII counts as a letter.
pub(crate) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii()
}
