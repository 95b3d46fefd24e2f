//! Decides whether a text can be parsed here. The parser takes stack for everything that is open at a time and keeps no
//! count of it, and a stack that overflows ends the whole worker. So what is open is counted first, and never too low:
//! where a text can be read in two ways that differ in depth, it is not parsed at all. In an invalid text, nothing need
//! be counted beyond the place at which the parser gives up.

use crate::typescript::{self, SyntaxError};

/// The deepest nesting of brackets that is parsed here. Deeper texts go to the engine, which counts its stack.
const MAX_NESTING: usize = 400;
/// The same for chains of words and signs, each of which can be the operand of the one before.
const MAX_CHAIN: usize = 2_000;
/// Parsing takes memory that is not charged to the run, and nothing interrupts it: 50 bytes for each byte of text,
/// measured at its worst, and 250 if the text is also translated.
const MAX_LENGTH: usize = 4 << 20;
const MAX_TYPED_LENGTH: usize = 1 << 20;
/// How much is searched in vain for the ends of regular expressions. Each `/` can cause a search through the rest of
/// its line, and nothing interrupts that.
const MAX_LOOKED_AT: usize = 2 * MAX_LENGTH;

/// What is written in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Syntax {
    JavaScript,
    TypeScript,
    /// With elements in it, whose text has rules of its own.
    TypeScriptWithElements,
}

/// Why a text is not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Obstacle {
    TooLong,
    TooDeep,
    /// How deep cannot be told, for what is at this place.
    Unclear(usize),
    /// How deep cannot be told of texts like this.
    Elements,
}

impl Obstacle {
    /// What is in the way of reading the text.
    pub(super) fn find(source: &str, syntax: Syntax) -> Option<Self> {
        let most = match syntax {
            Syntax::JavaScript => MAX_LENGTH,
            Syntax::TypeScript | Syntax::TypeScriptWithElements => MAX_TYPED_LENGTH,
        };
        if source.len() > most {
            Some(Self::TooLong)
        } else if is_surely_shallow(source.as_bytes()) {
            None
        } else if syntax == Syntax::TypeScriptWithElements {
            Some(Self::Elements)
        } else {
            Scanner::new(source.as_bytes(), syntax).scan().err()
        }
    }

    /// The error for a text that cannot be run without being parsed.
    pub(super) fn explain(self, source: &str) -> SyntaxError {
        let (message, offset) = match self {
            Self::TooLong => {
                (format!("it has more than {} MiB, the most that is translated", MAX_TYPED_LENGTH >> 20), 0)
            }
            Self::TooDeep => ("it is nested too deeply".to_owned(), 0),
            Self::Elements => ("with elements in it, it cannot be so long".to_owned(), 0),
            Self::Unclear(at) => {
                let message = "whether this is a division or a regular expression is not clear enough in so long a \
                               program: put a regular expression in parentheses";
                (message.to_owned(), at)
            }
        };
        let (line, column) = typescript::position(source, offset);
        SyntaxError { message, line, column }
    }
}

/// Whether the text has too little of everything to be deep, however it is read.
fn is_surely_shallow(text: &[u8]) -> bool {
    let (brackets, others) = tally(text);
    brackets <= MAX_NESTING && brackets + others <= MAX_CHAIN
}

/// Counts the brackets that open, and the signs and words that can be open too.
fn tally(text: &[u8]) -> (usize, usize) {
    let (mut brackets, mut others) = (0, 0);
    let mut rest = text;
    while let Some(&byte) = rest.first() {
        let mut length = 1;
        match byte {
            b'(' | b'[' | b'{' => brackets += 1,
            _ if is_word(byte) => {
                length = word_length(rest);
                others += usize::from(has_operand(rest.get(..length).unwrap_or_default()));
            }
            _ => others += usize::from(is_sign(byte)),
        }
        rest = rest.get(length..).unwrap_or_default();
    }
    (brackets, others)
}

/// What the last token was, for a `/` that may follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Before {
    /// It ended something that a `/` can divide, even on the next line: no semicolon is inserted before a `/` that
    /// continues an expression.
    Value,
    /// It ended something that a `/` on the same line can divide. With a line end between, it may have ended a
    /// statement that is no expression.
    Operand,
    /// It wants an operand.
    Operator,
    Unknown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bracket {
    Round,
    Square,
    Curly,
    /// `${`
    Template,
}

/// A bracket that is open.
#[derive(Debug)]
struct Open {
    bracket: Bracket,
    before: Before,
    /// What is open in it, each within the one before: up to the end of the statement,
    statement: usize,
    /// and, within that, up to the end of the part of a list.
    chain: usize,
    /// Whether this may be in the type of `x as void`, up to the end of the statement. The parser accepts those in
    /// JavaScript too.
    is_type: bool,
}

struct Scanner<'s> {
    text: &'s [u8],
    rest: &'s [u8],
    syntax: Syntax,
    open: Vec<Open>,
    /// All that is open in all brackets.
    depth: usize,
    before: Before,
    /// The last byte of the last token.
    last: u8,
    line: Line,
    end: End,
    /// Whether this may be in `import x = y.z`, which is no expression, and which the parser accepts in JavaScript too.
    imports: bool,
    /// See [`MAX_LOOKED_AT`].
    looked_at: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line {
    Same,
    /// There is something between this and the last token that may be the end of a line.
    Unclear,
    /// Another began after the last token.
    New,
}

/// What is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Chain,
    Statement,
}

/// Whether a semicolon has ended the statement, unless it goes on all the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    No,
    Perhaps,
}

impl<'s> Scanner<'s> {
    fn new(text: &'s [u8], syntax: Syntax) -> Self {
        let outermost =
            Open { bracket: Bracket::Curly, before: Before::Operator, statement: 0, chain: 0, is_type: false };
        Self {
            text,
            rest: text,
            syntax,
            open: vec![outermost],
            depth: 0,
            before: Before::Operator,
            last: b';',
            line: Line::New,
            end: End::No,
            imports: false,
            looked_at: 0,
        }
    }

    fn scan(mut self) -> Result<(), Obstacle> {
        let start = self.rest.strip_prefix("\u{feff}".as_bytes()).unwrap_or(self.rest);
        if start.starts_with(b"#!") {
            self.rest = start;
            self.skip(line_length(start));
        }
        while let Some(&byte) = self.rest.first() {
            match byte {
                b' ' | b'\t' | 0x0b | 0x0c => self.skip(1),
                b'\n' | b'\r' => {
                    self.line = Line::New;
                    self.skip(1);
                }
                b'/' if self.rest.starts_with(b"//") => self.skip(line_length(self.rest)),
                b'/' if self.rest.starts_with(b"/*") => self.skip_comment(),
                _ => self.token(byte)?,
            }
            if self.open.len() > MAX_NESTING || self.depth > MAX_CHAIN {
                return Err(Obstacle::TooDeep);
            }
        }
        Ok(())
    }

    fn token(&mut self, byte: u8) -> Result<(), Obstacle> {
        if is_word(byte) {
            self.word();
            return Ok(());
        }
        self.settle_end(b"");
        match byte {
            b'(' => self.enter(Bracket::Round),
            b'[' => self.enter(Bracket::Square),
            b'{' => self.enter(Bracket::Curly),
            b')' => self.leave(Bracket::Round),
            b']' => self.leave(Bracket::Square),
            b'}' if self.open.last().is_some_and(|open| open.bracket == Bracket::Template) => {
                self.leave(Bracket::Template);
                self.template();
            }
            b'}' => self.leave(Bracket::Curly),
            b';' => {
                self.end = End::Perhaps;
                self.imports = false;
                self.pass(1, Before::Operator);
            }
            b',' => {
                self.restart(Part::Chain);
                self.pass(1, Before::Operator);
            }
            b'"' | b'\'' => {
                let length = string_length(self.rest);
                self.imports = false;
                self.pass(length, Before::Operand);
            }
            b'`' => {
                self.count(1);
                self.template();
            }
            b'/' => self.slash()?,
            // For some, this starts a comment.
            b'<' if self.rest.starts_with(b"<!--") => return Err(self.unclear()),
            b'-' if self.rest.starts_with(b"-->") && (self.line != Line::Same || !self.last.is_ascii()) => {
                return Err(self.unclear());
            }
            // Escaped letters.
            b'\\' => return Err(self.unclear()),
            _ => self.sign(byte),
        }
        Ok(())
    }

    fn sign(&mut self, byte: u8) {
        if byte == b'<' {
            // What follows can be a list.
            self.count_for_statement();
        } else if is_sign(byte) {
            self.count(1);
        }
        let is_typed = self.syntax != Syntax::JavaScript || self.is_type();
        let before = match byte {
            b'+' | b'-' if self.last == byte => Before::Unknown,
            // Behind a type, or a value that is there for sure.
            b'!' if is_typed && self.before != Before::Operator => Before::Unknown,
            b'?' | b'*' if is_typed => Before::Unknown,
            b'>' if is_typed && self.last != b'=' => Before::Unknown,
            b'=' | b':' | b'&' | b'|' | b'^' | b'~' | b'%' | b'<' | b'+' | b'-' | b'!' | b'?' | b'*' | b'>' => {
                Before::Operator
            }
            // `1.`, parts of characters, some of which are spaces or end a line, and what is in no program.
            _ => Before::Unknown,
        };
        self.pass(1, before);
    }

    fn word(&mut self) {
        let length = word_length(self.rest);
        let word = self.rest.get(..length).unwrap_or_default();
        self.settle_end(word);
        self.imports |= word == b"import";
        // Two operands with nothing between them belong to two statements.
        let is_operand = matches!(self.before, Before::Value | Before::Operand);
        let follows = self.last == b'}' || (is_operand && self.line == Line::New);
        if follows && !continues(word) {
            self.restart(Part::Statement);
        }
        if has_statement(word) {
            self.count_for_statement();
        } else if has_operand(word) {
            self.count(1);
        }
        if matches!(word, b"as" | b"satisfies")
            && let Some(open) = self.open.last_mut()
        {
            open.is_type = true;
        }
        let is_part = matches!(self.last, b'.' | b'#') || !self.last.is_ascii();
        let before = match before_of(word) {
            Before::Operator if is_part || self.is_type() => Before::Unknown,
            Before::Operand if !self.last.is_ascii() => Before::Unknown,
            Before::Operand if self.wants_value() && !is_whole_statement(word) => Before::Value,
            before @ (Before::Value | Before::Operand | Before::Operator | Before::Unknown) => before,
        };
        self.pass(length, before);
    }

    fn is_type(&self) -> bool {
        self.open.last().is_some_and(|open| open.is_type)
    }

    /// Whether only an expression, or the rest of one, can follow. What follows a type's signs can be a type, and a
    /// name after `*` or `,` can be a function's or a variable's; none of those can be divided.
    fn wants_value(&self) -> bool {
        let is_wanted = is_word(self.last) || b"=+-%&|^~!?:<>/".contains(&self.last);
        let is_known = self.syntax == Syntax::JavaScript && !self.imports && !self.is_type();
        is_known && (self.last == b'.' || (self.before == Before::Operator && is_wanted))
    }

    /// A `/` that starts no comment.
    fn slash(&mut self) -> Result<(), Obstacle> {
        // No statement ends in these.
        let is_within = self.open.last().is_some_and(|open| open.bracket != Bracket::Curly);
        let before = match (self.before, self.line) {
            (Before::Operand, Line::New | Line::Unclear) if !is_within => Before::Unknown,
            (before, _) => before,
        };
        let is_division = matches!(before, Before::Value | Before::Operand);
        let expression = if is_division { Err(0) } else { expression_length(self.rest) };
        match expression {
            Ok(length) if before == Before::Operator => self.pass(length, Before::Operand),
            Ok(length) => {
                let (inside, after) = self.rest.split_at(length);
                if inside.iter().any(|byte| b"'\"`\\()[]{}".contains(byte))
                    || matches!(after.first(), Some(b'/' | b'*'))
                    || !divides_at_its_end(inside)
                {
                    return Err(self.unclear());
                }
                // Then it means the same either way, or nearly.
                self.count(tally(inside).1);
                self.pass(length, Before::Unknown);
            }
            // A regular expression that does not end is none.
            Err(looked_at) => {
                self.looked_at += looked_at;
                if self.looked_at > MAX_LOOKED_AT {
                    return Err(self.unclear());
                }
                self.count(1);
                self.pass(1, Before::Operator);
            }
        }
        Ok(())
    }

    /// The text of a template, from where it begins or goes on, to its end or the next expression in it.
    fn template(&mut self) {
        let mut previous = 0;
        for (index, byte) in self.rest.iter().copied().enumerate().skip(1) {
            match (previous, byte) {
                // The escaped byte has none of its usual effects.
                (b'\\', _) => previous = 0,
                (_, b'`') => return self.pass(index + 1, Before::Operand),
                (b'$', b'{') => {
                    self.skip(index);
                    return self.enter(Bracket::Template);
                }
                (_, byte) => previous = byte,
            }
        }
        self.skip(self.rest.len());
    }

    fn enter(&mut self, bracket: Bracket) {
        // What is called again and again.
        if matches!(bracket, Bracket::Round | Bracket::Square) {
            self.count(1);
        }
        // Only a word can be that of a statement, though there may be a strange space behind it.
        let before = if self.wants_value() || self.before == Before::Value {
            Before::Value
        } else if is_word(self.last) || !self.last.is_ascii() {
            self.before
        } else {
            Before::Operator
        };
        self.open.push(Open { bracket, before, statement: 0, chain: 0, is_type: false });
        self.pass(1, Before::Operator);
    }

    /// A bracket that does not match the open one closes nothing.
    fn leave(&mut self, bracket: Bracket) {
        let mut before = Before::Unknown;
        if self.open.len() > 1
            && let Some(open) = self.open.pop_if(|open| open.bracket == bracket)
        {
            self.depth -= open.chain + open.statement;
            before = match (bracket, open.before) {
                // What follows `if (x)` is no operand of it.
                (Bracket::Round, Before::Unknown) | (Bracket::Curly | Bracket::Template, _) => Before::Unknown,
                (Bracket::Round | Bracket::Square, Before::Value) => Before::Value,
                (Bracket::Round | Bracket::Square, _) => Before::Operand,
            };
        }
        if bracket != Bracket::Template {
            self.pass(1, before);
        }
    }

    fn count(&mut self, more: usize) {
        if let Some(open) = self.open.last_mut() {
            open.chain += more;
            self.depth += more;
        }
    }

    /// One that a comma does not end, and neither what it is in.
    fn count_for_statement(&mut self) {
        self.count(1);
        if let Some(open) = self.open.last_mut() {
            open.statement += std::mem::take(&mut open.chain);
        }
    }

    fn restart(&mut self, part: Part) {
        if let Some(open) = self.open.last_mut() {
            self.depth -= std::mem::take(&mut open.chain);
            if part == Part::Statement {
                self.depth -= std::mem::take(&mut open.statement);
                open.is_type = false;
            }
        }
    }

    /// Decides whether a semicolon before this word has ended the statement.
    fn settle_end(&mut self, word: &[u8]) {
        if self.end == End::Perhaps && !continues(word) {
            self.restart(Part::Statement);
        }
        self.end = End::No;
    }

    fn skip_comment(&mut self) {
        let end = self.rest.windows(2).skip(2).position(|window| window == b"*/");
        let length = end.map_or(self.rest.len(), |end| end + 4);
        let comment = self.rest.get(..length).unwrap_or_default();
        // A comment that contains a line end counts as one.
        if comment.iter().any(|byte| matches!(byte, b'\n' | b'\r')) {
            self.line = Line::New;
        } else if self.line == Line::Same && !comment.is_ascii() {
            self.line = Line::Unclear;
        }
        self.skip(length);
    }

    fn skip(&mut self, length: usize) {
        self.rest = self.rest.get(length..).unwrap_or_default();
    }

    /// Goes on after a token.
    fn pass(&mut self, length: usize, before: Before) {
        self.last = length.checked_sub(1).and_then(|last| self.rest.get(last)).copied().unwrap_or_default();
        self.before = before;
        self.line = Line::Same;
        self.skip(length);
    }

    fn unclear(&self) -> Obstacle {
        Obstacle::Unclear(self.text.len() - self.rest.len())
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$'
}

fn word_length(text: &[u8]) -> usize {
    text.iter().position(|byte| !is_word(*byte)).unwrap_or(text.len())
}

/// Signs that can have all that follows as their operand, or all that is before.
fn is_sign(byte: u8) -> bool {
    b"!~+-*/%&|^<=?:.`".contains(&byte)
}

/// The same of words.
fn has_operand(word: &[u8]) -> bool {
    continues(word)
        || matches!(
            word,
            b"typeof"
                | b"void"
                | b"delete"
                | b"await"
                | b"yield"
                | b"new"
                | b"if"
                | b"for"
                | b"do"
                | b"keyof"
                | b"readonly"
                | b"unique"
                | b"infer"
                | b"asserts"
                | b"abstract"
        )
}

/// Words that have a statement.
fn has_statement(word: &[u8]) -> bool {
    matches!(word, b"if" | b"else" | b"for" | b"while" | b"do" | b"with")
}

/// For what is either a regular expression or part of a division: whether, if it is a division, the `/` at its end
/// divides too.
fn divides_at_its_end(expression: &[u8]) -> bool {
    let end = expression.iter().rposition(|byte| *byte == b'/').unwrap_or_default();
    let before = expression.get(..end).unwrap_or_default().trim_ascii_end();
    let start = before.iter().rposition(|byte| !is_word(*byte)).map_or(0, |other| other + 1);
    let word = before.get(start..).unwrap_or_default();
    let has_comment = before.windows(4).any(|part| part == b"<!--");
    !has_comment && !word.is_empty() && before_of(word) == Before::Operand && !is_whole_statement(word)
}

/// Words behind which a statement can be over without being an expression.
fn is_whole_statement(word: &[u8]) -> bool {
    matches!(word, b"break" | b"continue" | b"debugger" | b"let")
}

/// Words that may go on with the statement before them.
fn continues(word: &[u8]) -> bool {
    matches!(
        word,
        b"else"
            | b"while"
            | b"catch"
            | b"finally"
            | b"in"
            | b"of"
            | b"instanceof"
            | b"as"
            | b"satisfies"
            | b"is"
            | b"extends"
            | b"implements"
            | b"from"
            | b"with"
            | b"class"
    )
}

fn before_of(word: &[u8]) -> Before {
    match word {
        b"return" | b"typeof" | b"instanceof" | b"in" | b"new" | b"delete" | b"void" | b"throw" | b"case" | b"do"
        | b"else" => Before::Operator,
        b"default" | b"import" | b"export" | b"class" | b"function" | b"var" | b"const" | b"enum" | b"try"
        | b"switch" => Before::Unknown,
        word if has_operand(word) => Before::Unknown,
        _ => Before::Operand,
    }
}

/// Whether a line ends here.
fn is_line_end(text: &[u8]) -> bool {
    matches!(text, [b'\n' | b'\r', ..] | [0xe2, 0x80, 0xa8 | 0xa9, ..])
}

/// How far it is to the end of the line.
fn line_length(text: &[u8]) -> usize {
    (0..text.len()).find(|index| text.get(*index..).is_some_and(is_line_end)).unwrap_or(text.len())
}

/// The length of the string that starts here. An unterminated one ends with its line.
fn string_length(text: &[u8]) -> usize {
    let quote = text.first().copied().unwrap_or_default();
    let mut previous = 0;
    for (index, byte) in text.iter().copied().enumerate().skip(1) {
        match (previous, byte) {
            // One line's end, of two characters.
            (b'\\', b'\r') if text.get(index + 1) == Some(&b'\n') => {}
            (b'\\', _) => previous = 0,
            (_, b'\n' | b'\r') => return index,
            (_, byte) if byte == quote => return index + 1,
            (_, byte) => previous = byte,
        }
    }
    text.len()
}

/// The length of the regular expression that starts here. `Err`: there is none, since no end was found in so many
/// bytes.
fn expression_length(text: &[u8]) -> Result<usize, usize> {
    let mut previous = 0;
    let mut in_class = false;
    for (index, byte) in text.iter().copied().enumerate().skip(1) {
        match (previous, byte) {
            _ if text.get(index..).is_some_and(is_line_end) => return Err(index),
            (b'\\', _) => previous = 0,
            (_, b'/') if !in_class => {
                let flags = text.get(index + 1..).unwrap_or_default();
                return Ok(index + 1 + word_length(flags));
            }
            (_, byte) => {
                in_class = byte == b'[' || (in_class && byte != b']');
                previous = byte;
            }
        }
    }
    Err(text.len())
}

#[cfg(test)]
mod tests;
