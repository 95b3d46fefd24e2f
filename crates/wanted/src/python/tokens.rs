use crate::cursor::{Cursor, is_word};

/// A piece of a Python program. Comments and the text of f-strings are left out; the code in an f-string is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token<'code> {
    /// A name, keyword or number.
    Word(&'code str),
    /// What stands between the quotes of a string that has no fields, escapes as written.
    Literal(&'code str),
    /// Any other character.
    Mark(u8),
    /// Where a statement may begin next: a newline, `;` or `:` outside of brackets.
    End,
}

/// What has been opened and not yet closed. Kept on the heap, and small: a program nests as deeply as it likes.
#[derive(Debug, Clone, Copy)]
enum Open {
    Bracket,
    /// An f-string.
    Text(Quote),
    /// `{` in an f-string: code, until `}`.
    Field(Quote),
    /// `:` in a field: text again, until `}`.
    Format(Quote),
}

/// What closes a string.
#[derive(Debug, Clone, Copy)]
enum Quote {
    Double,
    Single,
    TripleDouble,
    TripleSingle,
}

impl Quote {
    /// Longest first.
    const ALL: [Self; 4] = [Self::TripleDouble, Self::TripleSingle, Self::Double, Self::Single];

    fn text(self) -> &'static str {
        match self {
            Self::Double => "\"",
            Self::Single => "'",
            Self::TripleDouble => "\"\"\"",
            Self::TripleSingle => "'''",
        }
    }

    /// Whether the end of the line closes the string too: it is an error, and what follows is code again.
    fn ends_with_line(self) -> bool {
        matches!(self, Self::Double | Self::Single)
    }
}

/// The tokens of a program, or of any other text: nothing is an error.
#[derive(Debug)]
pub(super) struct Tokens<'code> {
    cursor: Cursor<'code>,
    open: Vec<Open>,
    is_over: bool,
}

impl<'code> Tokens<'code> {
    pub(super) fn of(code: &'code str) -> Self {
        let mut tokens = Self { cursor: Cursor::new(code), open: Vec::new(), is_over: false };
        tokens.cursor.eat("\u{feff}");
        tokens.skip_magic();
        tokens
    }

    /// `%pip install x` and `!pip install x` of notebooks are not Python.
    fn skip_magic(&mut self) {
        self.cursor.eat_while(|byte| matches!(byte, b' ' | b'\t'));
        if matches!(self.cursor.peek(), Some(b'%' | b'!')) {
            self.cursor.skip_line();
        }
    }

    fn word(&mut self) -> Token<'code> {
        let word = self.cursor.eat_while(is_word);
        let is_prefix = word.len() <= 2 && word.bytes().all(|byte| b"rbuftRBUFT".contains(&byte));
        if is_prefix && matches!(self.cursor.peek(), Some(b'"' | b'\'')) {
            return self.string(word);
        }
        Token::Word(word)
    }

    fn string(&mut self, prefix: &str) -> Token<'code> {
        let quote = Quote::ALL.into_iter().find(|quote| self.cursor.eat(quote.text())).unwrap_or(Quote::Double);
        if prefix.contains(['f', 'F', 't', 'T']) {
            self.open.push(Open::Text(quote));
            return Token::Mark(b'"');
        }
        let start = self.cursor.at();
        loop {
            let text = self.cursor.since(start);
            if self.cursor.eat(quote.text()) {
                return Token::Literal(text);
            }
            match self.cursor.peek() {
                None => return Token::Literal(text),
                Some(b'\n') if quote.ends_with_line() => return Token::Literal(text),
                Some(b'\\') => self.cursor.eat_escape(),
                Some(_) => self.cursor.bump(),
            }
        }
    }

    /// Skips text in an f-string, up to its next field or its end.
    fn skip_text(&mut self, quote: Quote) {
        let is_format = matches!(self.open.last(), Some(Open::Format(_)));
        loop {
            if self.cursor.eat(quote.text()) {
                return self.close_text();
            }
            match self.cursor.peek() {
                None => return self.open.clear(),
                Some(b'\n') if quote.ends_with_line() => return self.close_text(),
                Some(b'\\') => {
                    self.cursor.bump();
                    // Before a field, a backslash stands for itself.
                    if self.cursor.peek() != Some(b'{') && !self.cursor.eat("\r\n") {
                        self.cursor.bump();
                    }
                }
                Some(b'{') if !is_format && self.cursor.eat("{{") => {}
                Some(b'{') => {
                    self.cursor.bump();
                    return self.open.push(Open::Field(quote));
                }
                Some(b'}') if is_format => {
                    self.cursor.bump();
                    self.open.pop();
                    return;
                }
                Some(_) => self.cursor.bump(),
            }
        }
    }

    fn close_text(&mut self) {
        while let Some(Open::Bracket | Open::Field(_) | Open::Format(_)) = self.open.pop() {}
    }
}

impl<'code> Iterator for Tokens<'code> {
    type Item = Token<'code>;

    fn next(&mut self) -> Option<Token<'code>> {
        loop {
            let innermost = self.open.last().copied();
            if let Some(Open::Text(quote) | Open::Format(quote)) = innermost {
                self.skip_text(quote);
                continue;
            }
            let Some(byte) = self.cursor.peek() else {
                // The last statement ends with the program.
                return (!std::mem::replace(&mut self.is_over, true)).then_some(Token::End);
            };
            match byte {
                b'#' => self.cursor.skip_line(),
                b'"' | b'\'' => return Some(self.string("")),
                _ if is_word(byte) => return Some(self.word()),
                b'\\' => self.cursor.eat_escape(),
                _ => {
                    self.cursor.bump();
                    match (byte, innermost) {
                        (b'\n', None) => {
                            self.skip_magic();
                            return Some(Token::End);
                        }
                        (b';' | b':', None) => return Some(Token::End),
                        (b' ' | b'\t' | b'\r' | b'\n' | b'\x0c', _) => continue,
                        (b':', Some(Open::Field(quote))) => {
                            self.open.pop();
                            self.open.push(Open::Format(quote));
                        }
                        (b'(' | b'[' | b'{', _) => self.open.push(Open::Bracket),
                        (b')' | b']' | b'}', Some(Open::Bracket)) | (b'}', Some(Open::Field(_))) => {
                            self.open.pop();
                        }
                        _ => {}
                    }
                    return Some(Token::Mark(byte));
                }
            }
        }
    }
}
