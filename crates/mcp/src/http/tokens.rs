//! Bearer tokens that the operator handed out.

use std::collections::HashMap;

use sandbox::Principal;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

/// Bearer tokens and whose they are.
#[derive(Debug, Clone, Default)]
pub struct Tokens(Vec<(Principal, Secret)>);

/// A token's hash. Hashes are compared in constant time, and say nothing of the token's length.
#[derive(Clone)]
struct Secret([u8; 32]);

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret")
    }
}

/// What is wrong with a file of tokens.
#[derive(Debug, thiserror::Error)]
pub enum TokensError {
    /// A line that is no name and token.
    #[error("line {0} is not `NAME TOKEN`")]
    Line(usize),
    /// Names with one are an authorization server's.
    #[error("the name in line {0} has a colon")]
    Name(usize),
    /// A token that could be guessed.
    #[error("the token in line {line} is shorter than {MIN_TOKEN} characters")]
    Short {
        /// Where.
        line: usize,
    },
    /// Two callers with one token cannot be told apart.
    #[error("the token in line {line} is that of line {first} too")]
    Same {
        /// The second.
        line: usize,
        /// The first.
        first: usize,
    },
    /// A file without any would let nobody in.
    #[error("there is no token in it")]
    Empty,
}

const MIN_TOKEN: usize = 16;

impl Tokens {
    /// A line for each caller: a name, a space, a token. Lines that start with `#` are comments.
    pub fn parse(text: &str) -> Result<Self, TokensError> {
        let mut tokens = Vec::new();
        let mut seen = HashMap::new();
        for (number, line) in (1..).zip(text.lines()) {
            let line_text = line.trim();
            if line_text.is_empty() || line_text.starts_with('#') {
                continue;
            }
            let mut words = line_text.split_whitespace();
            let (Some(name), Some(token), None) = (words.next(), words.next(), words.next()) else {
                return Err(TokensError::Line(number));
            };
            if name.contains(':') {
                return Err(TokensError::Name(number));
            }
            if token.len() < MIN_TOKEN {
                return Err(TokensError::Short { line: number });
            }
            if let Some(first) = seen.insert(token, number) {
                return Err(TokensError::Same { line: number, first });
            }
            tokens.push((Principal::new(name), Secret(Sha256::digest(token).into())));
        }
        if tokens.is_empty() { Err(TokensError::Empty) } else { Ok(Self(tokens)) }
    }

    /// Whose token it is. Takes the same time whichever it is, and whether it is any.
    pub(super) fn owner(&self, token: &str) -> Option<Principal> {
        let given: [u8; 32] = Sha256::digest(token).into();
        let mut owner = None;
        for (principal, secret) in &self.0 {
            if bool::from(secret.0.ct_eq(&given)) {
                owner = Some(principal.clone());
            }
        }
        owner
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_name_their_owners() {
        let tokens = Tokens::parse("# ours\nada 0123456789abcdef0\n\ngrace   fedcba9876543210f\n").expect("tokens");
        assert_eq!(tokens.owner("0123456789abcdef0"), Some(Principal::new("ada")));
        assert_eq!(tokens.owner("fedcba9876543210f"), Some(Principal::new("grace")));
        for wrong in ["", "0123456789abcdef", "0123456789abcdef00", "ada"] {
            assert_eq!(tokens.owner(wrong), None, "{wrong}");
        }
        assert!(!format!("{tokens:?}").contains("0123"));
    }

    #[test]
    fn a_file_that_lets_in_too_many_or_nobody_is_an_error() {
        for (text, expected) in [
            ("", "there is no token in it"),
            ("# nothing", "there is no token in it"),
            ("ada", "line 1 is not `NAME TOKEN`"),
            ("ada 0123456789abcdef x", "line 1 is not `NAME TOKEN`"),
            ("oauth:ada 0123456789abcdef", "the name in line 1 has a colon"),
            ("ada short", "the token in line 1 is shorter than 16 characters"),
            ("ada 0123456789abcdef\ngrace 0123456789abcdef", "the token in line 2 is that of line 1 too"),
        ] {
            assert_eq!(Tokens::parse(text).expect_err("wrong").to_string(), expected, "{text}");
        }
    }
}
