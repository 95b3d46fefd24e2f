//! Which language a program is written in, if nobody said.
//!
//! From the strongest evidence to the weakest: the tag of a Markdown fence, a `#!` line, the file's name, the code
//! itself. The last is a sum of weights (see [`signals`]) and counts only if one language is clearly ahead: running a
//! program in the wrong language wastes more of a caller's time than asking which one it is.

mod outline;
mod pattern;
mod signals;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;

use super::Language;
use outline::{Outline, Stripped};
use signals::{SIGNALS, Signals};

/// A program and its language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Detected<'code> {
    /// The language.
    pub language: &'static Language,
    /// The program, without a Markdown fence around it.
    pub code: &'code str,
}

/// Why no language was found.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DetectError {
    /// The fence names a language that is not in the table, so guessing from the code would contradict the caller.
    #[error("the fence around `code` is tagged `{tag}`, which is no language that belljar knows")]
    UnknownFence {
        /// The tag, cut to a length that can be shown.
        tag: String,
    },
    /// No language is clearly ahead.
    #[error("the language of `code` is not clear")]
    Unclear {
        /// Ids of the likeliest languages, best first: at most five, none if nothing points to any.
        candidates: Vec<&'static str>,
    },
}

/// As many as a caller can be expected to choose from.
const MAX_CANDIDATES: usize = 5;

/// The least that counts as evidence: one sure sign, or two fair ones.
const CLEAR_SCORE: u32 = 4;

/// How much a language that extends another must show of its own before it inherits the other's score.
const MIN_OWN: u32 = 3;

/// Longer tags are cut in messages.
const MAX_SHOWN_TAG: usize = 40;

/// Finds the language of `code`, which may be one fenced Markdown block.
pub fn detect<'code>(code: &'code str, file_name: Option<&str>) -> Result<Detected<'code>, DetectError> {
    let (tag, code) = Fence::around(code).map_or(("", code), |fence| (fence.tag, fence.body));
    if !tag.is_empty() {
        let language = by_tag(tag).ok_or_else(|| DetectError::UnknownFence { tag: shown(tag) })?;
        return Ok(Detected { language, code });
    }
    let language = match by_shebang(code).or_else(|| file_name.and_then(by_file_name)) {
        Some(language) => language,
        None => by_signals(code)?,
    };
    Ok(Detected { language, code })
}

/// The program inside, when the whole text is one fenced Markdown block; otherwise the text as it is.
pub fn strip_fence(code: &str) -> &str {
    Fence::around(code).map_or(code, |fence| fence.body)
}

/// A text that is nothing but one fenced block.
#[derive(Debug)]
struct Fence<'code> {
    /// The first word after the opening fence; empty if there is none.
    tag: &'code str,
    body: &'code str,
}

impl<'code> Fence<'code> {
    fn around(text: &'code str) -> Option<Self> {
        let text = text.trim();
        let marker = text.chars().next().filter(|first| matches!(first, '`' | '~'))?;
        let (opening, rest) = text.split_once('\n')?;
        let info = opening.trim_start_matches(marker);
        let length = opening.len() - info.len();
        let (body, closing) = match rest.rsplit_once('\n') {
            Some((body, closing)) => (rest.get(..=body.len())?, closing),
            None => ("", rest),
        };
        let closes = |line: &str| {
            let line = line.trim();
            line.len() >= length && line.chars().all(|character| character == marker)
        };
        // If a fence closes earlier the text is more than one block, and an info string with a backtick is inline code.
        if length < 3 || !closes(closing) || body.lines().any(closes) || info.contains('`') {
            return None;
        }
        // `python title="x"`, `js{1,3}`, `{.python}`, `rust,ignore`, `python:main.py`
        let info = info.trim().trim_start_matches(['{', '.']);
        let end =
            info.find(|c: char| c.is_whitespace() || matches!(c, ',' | ':' | ';' | '{' | '}')).unwrap_or(info.len());
        Some(Self { tag: info.split_at(end).0, body })
    }
}

fn shown(tag: &str) -> String {
    tag.chars().filter(|character| !character.is_control()).take(MAX_SHOWN_TAG).collect()
}

/// A tag is a name or, just as often, a file name extension.
fn by_tag(tag: &str) -> Option<&'static Language> {
    Language::find(tag).or_else(|| by_extension(tag))
}

fn by_extension(extension: &str) -> Option<&'static Language> {
    let extension = extension.to_ascii_lowercase();
    Language::all().iter().find(|language| language.extensions.contains(&extension.as_str()))
}

fn by_file_name(file_name: &str) -> Option<&'static Language> {
    let (_, extension) = file_name.rsplit(['/', '\\']).next()?.rsplit_once('.')?;
    by_extension(extension)
}

fn by_shebang(code: &str) -> Option<&'static Language> {
    let line = code.strip_prefix('\u{feff}').unwrap_or(code).strip_prefix("#!")?.lines().next()?;
    let mut words = line.split_whitespace();
    let mut program = base_name(words.next()?);
    if program == "env" {
        // `env -S python3 -u`, `env PYTHONPATH=. python3`
        program = base_name(words.find(|word| !word.starts_with('-') && !word.contains('='))?);
    }
    let program = program.to_ascii_lowercase();
    let named = |name: &str| Language::all().iter().find(|language| language.interpreters.contains(&name));
    // Exact first: `perl6` is not version 6 of `perl`.
    named(&program).or_else(|| named(program.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-'))))
}

fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn by_signals(code: &str) -> Result<&'static Language, DetectError> {
    let stripped = Stripped::of(code);
    let outline = stripped.outline();
    let mut scores: Vec<(u32, &'static str)> =
        SIGNALS.iter().map(|signals| (score(signals, &outline), signals.language)).collect();
    // Stable: ties stay in the table's order, which is how often languages are asked for.
    scores.sort_by_key(|(score, _)| Reverse(*score));
    let best = scores.first().copied().unwrap_or((0, ""));
    // The language it extends is not a rival: it can only be behind by what the best one adds.
    let base = SIGNALS.iter().find(|signals| signals.language == best.1).and_then(|signals| signals.extends);
    let second = scores.iter().skip(1).find(|(_, id)| Some(*id) != base).map_or(0, |(score, _)| *score);
    if is_clear(best.0, second)
        && let Some(language) = Language::find(best.1)
    {
        return Ok(language);
    }
    let worth_naming = |(score, _): &&(u32, &str)| *score > 0 && score * 3 >= best.0;
    let candidates = scores.iter().filter(worth_naming).map(|(_, id)| *id).take(MAX_CANDIDATES).collect();
    Err(DetectError::Unclear { candidates })
}

/// Ahead by a third, and by more than one weak sign.
fn is_clear(best: u32, second: u32) -> bool {
    best >= CLEAR_SCORE && best * 3 >= second * 4 && best >= second + 2
}

fn score(signals: &Signals, outline: &Outline<'_>) -> u32 {
    let own: i32 = signals.signs.iter().filter(|(_, pattern)| pattern.is_in(outline)).map(|(weight, _)| weight).sum();
    let own = u32::try_from(own).unwrap_or(0);
    match signals.extends {
        // Counts only for what it adds: a C program is not evidence for C++, though C++ would accept it.
        Some(base) if own >= MIN_OWN => {
            own + SIGNALS.iter().filter(|other| other.language == base).map(|other| score(other, outline)).sum::<u32>()
        }
        Some(_) => 0,
        None => own,
    }
}
