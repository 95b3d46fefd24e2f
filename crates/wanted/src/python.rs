#[cfg(test)]
mod tests;
mod tokens;

use tokens::{Token, Tokens};

use crate::cursor::is_word;
use crate::distribution::is_namespace;
use crate::found::Found;

/// The modules that a Python program imports, dotted, in order, each once.
///
/// `import a.b, c as d` gives `a.b` and `c`; `from x.y import z` gives `x.y`; relative imports give nothing. Where `x.y` is a
/// namespace that distributions share, its members are what is imported: `from google.cloud import storage` gives
/// `google.cloud.storage`. `importlib.import_module("x")` and `__import__("x")` count if the name is a literal.
///
/// What stands in comments and strings does not count, but code in an f-string's fields does. Text that is no Python gives
/// whatever statements it seems to hold.
pub fn python_imports(code: &str) -> Vec<String> {
    let mut reader = Reader::default();
    let mut last = [Token::End; 4];
    for token in Tokens::of(code) {
        let [_, third, second, first] = last;
        last = [third, second, first, token];
        if let [
            Token::Word("import_module" | "__import__"),
            Token::Mark(b'('),
            Token::Literal(module),
            Token::Mark(b')' | b','),
        ] = last
        {
            reader.add(module);
        }
        reader.read(token);
    }
    reader.found.into_names()
}

/// Where in a statement the reader is.
#[derive(Debug, Clone, Copy, Default)]
enum Place {
    /// A statement may begin.
    #[default]
    Start,
    /// In a name after `import`.
    Import,
    /// After that name's `as`.
    ImportAs,
    /// In the name after `from`.
    From,
    /// After `from namespace import`: a member is next.
    Member,
    /// After a member, perhaps in its `as`.
    AfterMember,
    /// In a statement that imports nothing, or nothing more.
    Other,
}

#[derive(Debug, Default)]
struct Reader {
    place: Place,
    /// The dotted name, as far as it was read.
    name: String,
    found: Found,
}

impl Reader {
    fn read(&mut self, token: Token<'_>) {
        self.place = match (self.place, token) {
            (Place::Start, Token::Word("import")) => self.begin(Place::Import),
            (Place::Start, Token::Word("from")) => self.begin(Place::From),
            (Place::Import, Token::Word("as")) | (Place::ImportAs, Token::Word(_)) => Place::ImportAs,
            (Place::Import | Place::ImportAs, Token::Mark(b',')) => {
                self.finish();
                self.begin(Place::Import)
            }
            (Place::Import | Place::ImportAs, Token::End) => {
                self.finish();
                Place::Start
            }
            (Place::From, Token::Word("import")) if is_namespace(&self.name) => Place::Member,
            (Place::From, Token::Word("import")) => {
                self.finish();
                Place::Other
            }
            (Place::Import | Place::From, Token::Word(word)) if self.name.is_empty() || self.name.ends_with('.') => {
                self.name.push_str(word);
                self.place
            }
            (Place::Import | Place::From, Token::Mark(b'.')) if !self.name.is_empty() => {
                self.name.push('.');
                self.place
            }
            (Place::Member, Token::Mark(b'(')) | (Place::AfterMember, Token::Mark(b',')) => Place::Member,
            (Place::Member, Token::Word(member)) => {
                self.add(&format!("{}.{member}", self.name));
                Place::AfterMember
            }
            (Place::AfterMember, Token::Word(_)) => Place::AfterMember,
            (_, Token::End) => Place::Start,
            _ => Place::Other,
        };
    }

    fn begin(&mut self, place: Place) -> Place {
        self.name.clear();
        place
    }

    fn finish(&mut self) {
        let name = std::mem::take(&mut self.name);
        self.add(&name);
    }

    fn add(&mut self, module: &str) {
        let is_name = |part: &str| part.starts_with(|first: char| !first.is_ascii_digit()) && part.bytes().all(is_word);
        if module.split('.').all(is_name) {
            self.found.add(module);
        }
    }
}
