use crate::cursor::{Cursor, is_word};

/// A piece of a JavaScript or TypeScript program. Comments, regular expressions and the text of templates are left out; the code
/// in a template's `${}` is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token<'code> {
    /// A name, keyword or number.
    Word(&'code str),
    /// What stands between the quotes of a string, or of a template without `${}`, escapes as written.
    Literal(&'code str),
    /// Any other character. `...` is a `*`: what it spreads is not a property, as what a single `.` leads to is.
    Mark(u8),
}

/// What has been opened and not yet closed. Kept on the heap: a program nests as deeply as it likes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Open {
    Bracket,
    /// The parenthesis of `if (…)`: what follows it is no operator.
    Condition,
    Template,
}

/// The tokens of a program, or of any other text: nothing is an error.
#[derive(Debug)]
pub(super) struct Tokens<'code> {
    cursor: Cursor<'code>,
    open: Vec<Open>,
    last: Token<'code>,
    /// Whether a value has just ended, so that `/` divides it. After anything else it begins a regular expression.
    after_value: bool,
    /// Up to here no regular expression ends. Each line is searched once, however many slashes it has.
    no_regex_before: usize,
}

impl<'code> Tokens<'code> {
    pub(super) fn of(code: &'code str) -> Self {
        let mut cursor = Cursor::new(code);
        cursor.eat("\u{feff}");
        if cursor.eat("#!") {
            cursor.skip_line();
        }
        Self { cursor, open: Vec::new(), last: Token::Mark(b';'), after_value: false, no_regex_before: 0 }
    }

    fn word(&mut self) -> Token<'code> {
        let word = self.cursor.eat_while(|byte| is_word(byte) || byte == b'$');
        self.after_value = !matches!(
            word,
            "await"
                | "case"
                | "delete"
                | "do"
                | "else"
                | "in"
                | "instanceof"
                | "new"
                | "of"
                | "return"
                | "throw"
                | "typeof"
                | "void"
                | "yield"
        );
        Token::Word(word)
    }

    fn string(&mut self, quote: u8) -> Token<'code> {
        self.after_value = true;
        self.cursor.bump();
        let start = self.cursor.at();
        loop {
            match self.cursor.peek() {
                Some(b'\\') => self.cursor.eat_escape(),
                Some(byte) if byte != quote && byte != b'\n' => self.cursor.bump(),
                end => {
                    let text = self.cursor.since(start);
                    if end == Some(quote) {
                        self.cursor.bump();
                    }
                    return Token::Literal(text);
                }
            }
        }
    }

    /// Reads on in a template, up to its next `${` or its end.
    fn template(&mut self) -> Token<'code> {
        let start = self.cursor.at();
        loop {
            match self.cursor.peek() {
                Some(b'\\') => self.cursor.eat_escape(),
                Some(b'$') if self.cursor.eat("${") => {
                    self.open.push(Open::Bracket);
                    self.after_value = false;
                    return Token::Mark(b'`');
                }
                Some(byte) if byte != b'`' => self.cursor.bump(),
                _ => {
                    let text = self.cursor.since(start);
                    self.cursor.bump();
                    self.open.pop();
                    self.after_value = true;
                    return Token::Literal(text);
                }
            }
        }
    }

    /// Moves past the regular expression whose `/` was just read, if it is one: it ends on its line.
    fn eat_regex(&mut self) {
        if self.cursor.at() < self.no_regex_before {
            return;
        }
        let mut ahead = self.cursor.clone();
        let mut in_class = false;
        loop {
            match ahead.peek() {
                None | Some(b'\n') => {
                    self.no_regex_before = ahead.at();
                    return;
                }
                Some(b'/') if !in_class => break,
                Some(b'\\') => ahead.bump(),
                Some(b'[') => in_class = true,
                Some(b']') => in_class = false,
                Some(_) => {}
            }
            ahead.bump();
        }
        ahead.bump();
        ahead.eat_while(is_word);
        self.cursor = ahead;
        self.after_value = true;
    }

    fn mark(&mut self, byte: u8) -> Token<'code> {
        for doubled in ["++", "--"] {
            // Before a value or after it: either way what may follow stays the same.
            if self.cursor.eat(doubled) {
                return Token::Mark(byte);
            }
        }
        if self.cursor.eat("...") {
            self.after_value = false;
            return Token::Mark(b'*');
        }
        self.cursor.bump();
        match byte {
            b'(' => {
                let is_condition = matches!(self.last, Token::Word("if" | "while" | "for" | "with"));
                self.open.push(if is_condition { Open::Condition } else { Open::Bracket });
                self.after_value = false;
            }
            b'[' | b'{' => {
                self.open.push(Open::Bracket);
                self.after_value = false;
            }
            // A block ends no value, but JSX does: `<a b={c}/>`.
            b')' | b']' | b'}' => self.after_value = self.open.pop() != Some(Open::Condition),
            // TypeScript's `value!`, or `!value`: what may follow stays the same.
            b'!' => {}
            b'/' if !self.after_value => self.eat_regex(),
            _ => self.after_value = false,
        }
        Token::Mark(byte)
    }

    fn skip_block_comment(&mut self) {
        while !self.cursor.eat("*/") && self.cursor.peek().is_some() {
            self.cursor.bump();
        }
    }
}

impl<'code> Iterator for Tokens<'code> {
    type Item = Token<'code>;

    fn next(&mut self) -> Option<Token<'code>> {
        loop {
            let byte = self.cursor.peek()?;
            self.last = match byte {
                _ if self.open.last() == Some(&Open::Template) => self.template(),
                b'`' => {
                    self.cursor.bump();
                    self.open.push(Open::Template);
                    self.template()
                }
                b'"' | b'\'' => self.string(byte),
                b'/' if self.cursor.eat("//") => {
                    self.cursor.skip_line();
                    continue;
                }
                b'/' if self.cursor.eat("/*") => {
                    self.skip_block_comment();
                    continue;
                }
                b'$' => self.word(),
                _ if is_word(byte) => self.word(),
                _ if byte.is_ascii_whitespace() => {
                    self.cursor.bump();
                    continue;
                }
                _ => self.mark(byte),
            };
            return Some(self.last);
        }
    }
}
