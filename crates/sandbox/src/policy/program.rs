//! Which language a request's program is in, and where the program starts.

use super::Policy;
use crate::language::{Detected, detect, strip_fence};
use crate::{Bytes, DetectError, Language, Refusal, Request};

/// The language and the program as it is run.
pub(super) fn read(request: &Request) -> Result<(&'static Language, Vec<u8>), Refusal> {
    let (language, code) = bare(request)?;
    Ok((language, in_tags(language, code)))
}

/// A Markdown fence around a program is evidence for the language, but not part of the program.
fn bare(request: &Request) -> Result<(&'static Language, Vec<u8>), Refusal> {
    let code = &request.code;
    if code.len() > Policy::MAX_CODE.as_usize() {
        return Err(Refusal::new(
            "code",
            format!("`code` is {}, above the limit of {}", Bytes::new(code.len() as u64), Policy::MAX_CODE),
            "put data into `files` and keep `code` to the program",
        ));
    }
    if code.contains(&0) {
        return Err(Refusal::new(
            "code",
            "`code` contains a NUL byte",
            "send source text; put binary data into `files`",
        ));
    }
    if code.trim_ascii().is_empty() {
        return Err(Refusal::new("code", "`code` is empty", "send a program, such as `print(1 + 1)`"));
    }
    let text = String::from_utf8_lossy(code);
    if let Some(name) = &request.language {
        let language = Language::find(name).ok_or_else(|| unknown_language(name))?;
        // Lossy text differs from the bytes if they are not UTF-8; then there is no fence worth stripping.
        let code =
            std::str::from_utf8(code).map_or_else(|_| code.clone(), |text| strip_fence(text).as_bytes().to_vec());
        return Ok((language, code));
    }
    match detect(&text, request.file_name.as_deref()) {
        Ok(Detected { language, code: inner }) => {
            let code = if std::str::from_utf8(code).is_ok() { inner.as_bytes().to_vec() } else { code.clone() };
            Ok((language, code))
        }
        Err(error) => Err(undetected(&error)),
    }
}

/// PHP prints whatever is outside its tags. A program without tags is meant to be run all the same; the opening tag
/// goes in front of its first line, so that lines keep their numbers.
fn in_tags(language: &Language, mut code: Vec<u8>) -> Vec<u8> {
    let tagged = || {
        code.windows(3).any(|start| start == b"<?=") || code.windows(5).any(|tag| tag.eq_ignore_ascii_case(b"<?php"))
    };
    if language.id == "php" && !tagged() {
        code.splice(..0, *b"<?php ");
    }
    code
}

pub(super) fn unknown_language(name: &str) -> Refusal {
    let shown: String = name.chars().filter(|c| !c.is_control()).take(40).collect();
    let ids: Vec<&str> = Language::all().iter().map(|language| language.id).collect();
    let hint = match nearest_language(name) {
        Some(near) => format!("did you mean `{}`?", near.id),
        None => format!("use one of {}", ids.join(", ")),
    };
    Refusal::new("language", format!("`{shown}` is not a language belljar knows"), hint)
}

/// The language whose id or alias was probably meant.
fn nearest_language(name: &str) -> Option<&'static Language> {
    let names = Language::all().iter().flat_map(|language| language.aliases.iter().copied().chain([language.id]));
    Language::find(crate::nearest(name, names)?)
}

fn undetected(error: &DetectError) -> Refusal {
    let hint = match error {
        DetectError::Unclear { candidates } if !candidates.is_empty() => {
            format!("set `language`; it may be {}", candidates.join(", "))
        }
        DetectError::Unclear { .. } | DetectError::UnknownFence { .. } => "set `language`, such as `python`".to_owned(),
    };
    Refusal::new("language", error.to_string(), hint)
}
