//! What a program shows beside its output: frames of JSON that it wrote, each behind its length in decimal and a line feed. The guest made
//! all of it.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use sandbox::Display;
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// The file that makes Python show things, and with which a run has a descriptor 3 for them.
pub(crate) const SUPPORT: (&str, &str) = ("rich.py", include_str!("../../../runtimes/python/driver/rich.py"));

/// The most that one frame has, and all of a run that has no session: all displays, encoded, and a value.
pub(crate) const MOST: usize = 64 << 20;

/// Something to show, as a guest says it.
#[derive(Debug, Deserialize)]
pub(crate) struct Shown {
    mime: String,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    base64: Option<String>,
}

impl Shown {
    /// It, if it is what it says it is.
    pub(crate) fn check(self) -> Option<Display> {
        let data = match (self.text, self.base64) {
            (Some(text), None) => text.into_bytes(),
            (None, Some(encoded)) => BASE64_STANDARD.decode(encoded).ok()?,
            _ => return None,
        };
        Display::new(&self.mime, data, is_json)
    }
}

pub(crate) fn is_json(text: &str) -> bool {
    serde_json::from_str::<serde_json::Value>(text).is_ok()
}

/// Takes a whole frame out of what was read; `Err` when it can be none.
pub(crate) fn next_frame<T: DeserializeOwned>(read: &mut Vec<u8>) -> Result<Option<T>, NoFrame> {
    /// Longer than any length in decimal.
    const HEAD: usize = 16;
    let Some(end) = read.iter().take(HEAD).position(|byte| *byte == b'\n') else {
        return if read.len() > HEAD { Err(NoFrame) } else { Ok(None) };
    };
    let length = read.get(..end).and_then(|digits| std::str::from_utf8(digits).ok()?.parse::<usize>().ok());
    let length = length.filter(|length| *length <= MOST).ok_or(NoFrame)?;
    let start = end + 1;
    if read.len() < start + length {
        return Ok(None);
    }
    let frame = read.get(start..start + length).map(serde_json::from_slice);
    read.drain(..start + length);
    frame.ok_or(NoFrame)?.map(Some).map_err(|_| NoFrame)
}

/// What was read is none.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NoFrame;

/// What a run showed, from the file that it wrote to, as far as it can be understood.
pub(crate) fn read(mut file: File) -> Vec<Display> {
    let mut bytes = Vec::new();
    if file.seek(SeekFrom::Start(0)).and_then(|_| file.take(MOST as u64).read_to_end(&mut bytes)).is_err() {
        return Vec::new();
    }
    let frames = std::iter::from_fn(|| next_frame::<Shown>(&mut bytes).ok().flatten());
    Display::within_limits(frames.take(10 * Display::MAX_COUNT).filter_map(Shown::check)).0
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn frames_come_in_pieces() {
        let mut read = b"18\n{\"mime\":\"a\",\"text\":".to_vec();
        assert_eq!(next_frame::<serde_json::Value>(&mut read), Err(NoFrame), "it is cut there");
        let mut read = b"11\n{\"a\":".to_vec();
        assert_eq!(next_frame::<serde_json::Value>(&mut read), Ok(None));
        read.extend(b"123}  8\n");
        assert_eq!(next_frame(&mut read), Ok(Some(serde_json::json!({"a": 123}))));
        assert_eq!(read, b"8\n");
        for none in ["-5\n", "99999999999\n", "aaaaaaaaaaaaaaaaaaaaaa"] {
            assert_eq!(next_frame::<serde_json::Value>(&mut none.as_bytes().to_vec()), Err(NoFrame), "{none}");
        }
    }

    #[test]
    fn a_run_shows_what_can_be_understood() {
        let mut file = tempfile::tempfile().expect("a file");
        for frame in [r#"{"mime":"text/html","text":"<b>"}"#, r#"{"mime":"image/png","base64":"PHNjcmlwdD4="}"#] {
            write!(file, "{}\n{frame}", frame.len()).expect("written");
        }
        file.write_all(b"garbage").expect("written");
        let shown = read(file);
        assert_eq!(shown.iter().map(Display::mime).collect::<Vec<_>>(), ["text/html"]);
    }
}
