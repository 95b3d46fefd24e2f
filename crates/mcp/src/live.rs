//! A run's output on its way: all of it for the run's resources, news of it for whoever waits.

use std::sync::{Arc, Mutex, PoisonError};

use sandbox::{LiveOutput, Stream};
use tokio::sync::Notify;

use crate::recording::Recording;

/// What is kept of each stream for `run://` resources.
const MOST_RECORDED: usize = 8 << 20;
/// What a progress notification carries at most; of more, the latest.
const MOST_NEWS: usize = 4 << 10;

/// Takes a run's output.
#[derive(Debug, Clone, Default)]
pub(crate) struct Live(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    heard: Mutex<Heard>,
    there_is_news: Notify,
}

#[derive(Debug, Default)]
struct Heard {
    stdout: Recording,
    stderr: Recording,
    /// Not told yet.
    news: Vec<u8>,
}

impl LiveOutput for Live {
    fn output(&mut self, stream: Stream, bytes: &[u8]) {
        let mut heard = self.0.heard.lock().unwrap_or_else(PoisonError::into_inner);
        let recording = match stream {
            Stream::Stdout => &mut heard.stdout,
            Stream::Stderr => &mut heard.stderr,
        };
        let room = MOST_RECORDED.saturating_sub(recording.len()).min(bytes.len());
        recording.push(bytes.get(..room).unwrap_or_default());
        let latest = bytes.get(bytes.len().saturating_sub(MOST_NEWS)..).unwrap_or_default();
        let told_later = heard.news.len();
        let too_many = (told_later + latest.len()).saturating_sub(MOST_NEWS);
        heard.news.drain(..too_many.min(told_later));
        heard.news.extend_from_slice(latest);
        drop(heard);
        self.0.there_is_news.notify_one();
    }

    fn news(&mut self, text: &str) {
        self.0.heard.lock().unwrap_or_else(PoisonError::into_inner).news = text.as_bytes().to_vec();
        self.0.there_is_news.notify_one();
    }
}

impl Live {
    /// Until there is output that was not told.
    pub(crate) async fn news(&self) {
        self.0.there_is_news.notified().await;
    }

    /// Whether there is output that was not told.
    pub(crate) fn has_news(&self) -> bool {
        !self.0.heard.lock().unwrap_or_else(PoisonError::into_inner).news.is_empty()
    }

    /// What was not told yet, as text.
    pub(crate) fn take_news(&self) -> String {
        let mut heard = self.0.heard.lock().unwrap_or_else(PoisonError::into_inner);
        let mut news = std::mem::take(&mut heard.news);
        // A character in two parts waits for its second.
        if let Err(error) = std::str::from_utf8(&news)
            && error.error_len().is_none()
        {
            heard.news = news.split_off(error.valid_up_to());
        }
        String::from_utf8_lossy(&news).into_owned()
    }

    /// All that was recorded, standard output and standard error.
    pub(crate) fn take_recording(&self) -> (Recording, Recording) {
        let mut heard = self.0.heard.lock().unwrap_or_else(PoisonError::into_inner);
        (std::mem::take(&mut heard.stdout), std::mem::take(&mut heard.stderr))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn news_are_told_once_and_whole_characters_only() {
        let mut live = Live::default();
        live.output(Stream::Stdout, "a ü".as_bytes());
        live.output(Stream::Stderr, &"ö".as_bytes()[..1]);
        assert_eq!(live.take_news(), "a ü");
        live.output(Stream::Stderr, &"ö".as_bytes()[1..]);
        assert_eq!(live.take_news(), "ö");
        assert_eq!(live.take_news(), "");
        let (stdout, stderr) = live.take_recording();
        assert_eq!((stdout.bytes(), stderr.bytes()), ("a ü".into(), "ö".into()));
    }

    #[test]
    fn a_flood_is_cut() {
        let mut live = Live::default();
        for _ in 0..20 {
            live.output(Stream::Stdout, &vec![b'x'; 1 << 20]);
        }
        live.output(Stream::Stdout, b"end");
        let news = live.take_news();
        assert!(news.len() == MOST_NEWS && news.ends_with("xend"));
        assert_eq!(live.take_recording().0.len(), MOST_RECORDED);
    }

    #[test]
    fn bytes_that_are_no_text_do_not_stay() {
        let mut live = Live::default();
        live.output(Stream::Stdout, b"\xff\xfe ok");
        assert_eq!(live.take_news(), "\u{fffd}\u{fffd} ok");
    }
}
