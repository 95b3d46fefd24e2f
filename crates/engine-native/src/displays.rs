//! What a program shows besides its output: JSON frames, each preceded by its length in decimal and a line feed. The
//! guest made all of it.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use sandbox::Display;
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// The file that makes Python show things. A run that has it gets a descriptor 3 to show them on.
pub(crate) const SUPPORT: (&str, &str) = ("rich.py", include_str!("../../../runtimes/python/driver/rich.py"));

/// The largest frame, and the most that a run without a session may show: all displays, encoded, and a value.
pub(crate) const MOST: usize = 64 << 20;

/// How many of the things that a run shows are looked at: those that are not what they claim to be do not count as
/// shown.
pub(crate) const MOST_LOOKED_AT: usize = 10 * Display::MAX_COUNT;

/// Something to show, as the guest describes it.
#[derive(Debug, Deserialize)]
pub(crate) struct Shown {
    mime: String,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    base64: Option<String>,
}

impl Shown {
    /// The display, if it is what it claims to be.
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

/// What has been read, to be split into frames.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    read: Vec<u8>,
    /// Bytes already taken stay until more is read: a guest chooses how many frames there are, so the rest is moved
    /// once for all of them.
    taken: usize,
}

impl Frames {
    /// Takes the next frame, if it is complete; `Err` if what comes next cannot be one.
    pub(crate) fn take<T: DeserializeOwned>(&mut self) -> Result<Option<T>, NoFrame> {
        /// Longer than any length in decimal.
        const HEAD: usize = 16;
        let read = self.read.get(self.taken..).unwrap_or_default();
        let Some(end) = read.iter().take(HEAD).position(|byte| *byte == b'\n') else {
            return if read.len() > HEAD { Err(NoFrame) } else { Ok(None) };
        };
        let length = read.get(..end).and_then(|digits| std::str::from_utf8(digits).ok()?.parse::<usize>().ok());
        let length = length.filter(|length| *length <= MOST).ok_or(NoFrame)?;
        let start = end + 1;
        let Some(frame) = read.get(start..start + length) else { return Ok(None) };
        let frame = serde_json::from_slice(frame).map_err(|_| NoFrame)?;
        self.taken += start + length;
        Ok(Some(frame))
    }

    /// The buffer to read more into.
    pub(crate) fn rest(&mut self) -> &mut Vec<u8> {
        /// What may stay reserved for later frames: a guest chooses how large one is, and many interpreters wait for
        /// their next cell.
        const KEPT: usize = 64 << 10;
        self.read.drain(..self.taken);
        if self.taken > KEPT {
            self.read.shrink_to(KEPT);
        }
        self.taken = 0;
        &mut self.read
    }
}

/// What was read is not a frame.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NoFrame;

/// What a run showed, read from the file that it wrote to, as far as it makes sense.
pub(crate) fn read(mut file: File) -> Vec<Display> {
    let mut frames = Frames::default();
    if file.seek(SeekFrom::Start(0)).and_then(|_| file.take(MOST as u64).read_to_end(frames.rest())).is_err() {
        return Vec::new();
    }
    let frames = std::iter::from_fn(|| frames.take::<Shown>().ok().flatten());
    Display::within_limits(frames.take(MOST_LOOKED_AT).filter_map(Shown::check)).0
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn frames_come_in_pieces() {
        let take = |read: &[u8]| Frames { read: read.to_vec(), taken: 0 }.take::<serde_json::Value>();
        assert_eq!(take(b"18\n{\"mime\":\"a\",\"text\":"), Err(NoFrame), "it is cut there");
        let mut frames = Frames { read: b"11\n{\"a\":".to_vec(), taken: 0 };
        assert_eq!(frames.take::<serde_json::Value>(), Ok(None));
        frames.rest().extend(b"123}  8\n");
        assert_eq!(frames.take(), Ok(Some(serde_json::json!({"a": 123}))));
        assert_eq!(frames.rest(), b"8\n");
        for none in ["-5\n", "99999999999\n", "aaaaaaaaaaaaaaaaaaaaaa"] {
            assert_eq!(take(none.as_bytes()), Err(NoFrame), "{none}");
        }
    }

    /// Moving the rest after each of these would take minutes.
    #[test]
    fn many_frames_take_no_longer_than_their_bytes() {
        const COUNT: usize = 1 << 20;
        let mut frames = Frames { read: b"1\n0".repeat(COUNT), taken: 0 };
        let taken = std::iter::from_fn(|| frames.take::<u8>().expect("a frame")).count();
        assert_eq!((taken, frames.rest().len()), (COUNT, 0));
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
