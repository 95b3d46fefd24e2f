//! A run's output as a terminal would have it: both streams in the order in which they came.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sandbox::{LiveOutput, Stream};
use tokio::sync::Notify;

/// What is kept of the start of the output, and as much of its end.
const HALF: usize = 512 << 10;
/// What a piece takes beside its bytes. A guest that writes to its streams by turns makes many.
const PIECE: usize = 48;
/// The most lines that wait to be told, and the most that they take together; of more, the latest.
const MOST_LINES: usize = 1_000;
const MOST_UNTOLD: usize = 2 * HALF;

/// Takes a run's output. A clone is the same.
#[derive(Debug, Clone, Default)]
pub(super) struct Transcript(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    heard: Mutex<Heard>,
    there_is_news: Notify,
}

#[derive(Debug, Default)]
struct Heard {
    head: VecDeque<Piece>,
    head_size: usize,
    tail: VecDeque<Piece>,
    tail_size: usize,
    dropped: u64,
    /// For whoever listens while the run goes on.
    lines: Lines,
    untold: VecDeque<News>,
    untold_size: usize,
}

/// What one stream wrote until the other did. Much of it goes as it comes, at its two ends.
type Piece = (Stream, VecDeque<u8>);

/// A line of one stream, with its end if it has one.
pub(super) type Line = (Stream, String);

/// What a listener is told.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum News {
    Line(Line),
    /// What is done for the run before it starts.
    Doing(String),
}

impl News {
    fn size(&self) -> usize {
        match self {
            Self::Line((_, text)) | Self::Doing(text) => text.len(),
        }
    }
}

impl LiveOutput for Transcript {
    fn output(&mut self, stream: Stream, bytes: &[u8]) {
        let mut heard = self.heard();
        heard.keep(stream, bytes);
        for line in heard.lines.push(stream, bytes) {
            heard.tell(News::Line(line));
        }
        drop(heard);
        self.0.there_is_news.notify_one();
    }

    fn news(&mut self, text: &str) {
        self.heard().tell(News::Doing(text.to_owned()));
        self.0.there_is_news.notify_one();
    }
}

impl Transcript {
    /// All of it.
    pub(super) fn text(&self) -> String {
        let bytes: Vec<u8> = self.pieces().into_iter().flat_map(|(_, bytes)| bytes).collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// All of it, as what one stream wrote until the other did.
    pub(super) fn chunks(&self) -> Vec<Line> {
        let text = |(stream, bytes): (Stream, Vec<u8>)| (stream, String::from_utf8_lossy(&bytes).into_owned());
        self.pieces().into_iter().map(text).collect()
    }

    /// All of it, in lines, in the order in which they were complete.
    pub(super) fn lines(&self) -> Vec<Line> {
        let mut lines = Lines::default();
        let mut all: Vec<Line> = self.pieces().iter().flat_map(|(stream, bytes)| lines.push(*stream, bytes)).collect();
        all.extend(lines.finish());
        all
    }

    /// Until there is something that was not told.
    pub(super) async fn there_is_news(&self) {
        self.0.there_is_news.notified().await;
    }

    /// What was not told yet.
    pub(super) fn take_news(&self) -> Vec<News> {
        let mut heard = self.heard();
        heard.untold_size = 0;
        heard.untold.drain(..).collect()
    }

    /// The same when the run has ended: a line that has no end yet will not get one.
    pub(super) fn take_last_news(&self) -> Vec<News> {
        let mut heard = self.heard();
        let last = heard.lines.finish().into_iter().map(News::Line);
        heard.untold_size = 0;
        heard.untold.drain(..).chain(last).collect()
    }

    fn heard(&self) -> MutexGuard<'_, Heard> {
        self.0.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn pieces(&self) -> Vec<(Stream, Vec<u8>)> {
        let heard = self.heard();
        let marker = format!("\n[… {} bytes dropped …]\n", heard.dropped).into_bytes();
        let gap = (heard.dropped > 0).then_some((Stream::Stdout, marker));
        let kept = |pieces: &VecDeque<Piece>| -> Vec<(Stream, Vec<u8>)> {
            pieces.iter().map(|(stream, bytes)| (*stream, bytes.iter().copied().collect())).collect()
        };
        kept(&heard.head).into_iter().chain(gap).chain(kept(&heard.tail)).collect()
    }
}

impl Heard {
    fn tell(&mut self, news: News) {
        self.untold_size += news.size();
        self.untold.push_back(news);
        while (self.untold.len() > MOST_LINES || self.untold_size > MOST_UNTOLD)
            && let Some(first) = self.untold.pop_front()
        {
            self.untold_size -= first.size();
        }
    }

    fn keep(&mut self, stream: Stream, bytes: &[u8]) {
        let room = HALF.saturating_sub(self.head_size + PIECE).min(bytes.len());
        let (to_head, to_tail) = bytes.split_at(room);
        if !to_head.is_empty() {
            self.head_size += push(&mut self.head, stream, to_head);
        }
        // What goes past the head begins the tail, or the order would not hold.
        if !to_tail.is_empty() {
            self.head_size = HALF;
            self.tail_size += push(&mut self.tail, stream, to_tail);
        }
        while self.tail_size > HALF
            && let Some((_, first)) = self.tail.front_mut()
        {
            let excess = self.tail_size - HALF;
            if first.len() > excess {
                first.drain(..excess);
                (self.tail_size, self.dropped) = (HALF, self.dropped + excess as u64);
            } else {
                (self.tail_size, self.dropped) =
                    (self.tail_size - first.len() - PIECE, self.dropped + first.len() as u64);
                self.tail.pop_front();
            }
        }
    }
}

/// What it takes.
fn push(pieces: &mut VecDeque<Piece>, stream: Stream, bytes: &[u8]) -> usize {
    match pieces.back_mut() {
        Some((last, piece)) if *last == stream => {
            piece.extend(bytes);
            bytes.len()
        }
        Some(_) | None => {
            pieces.push_back((stream, bytes.iter().copied().collect()));
            bytes.len() + PIECE
        }
    }
}

/// Makes lines of pieces.
#[derive(Debug, Default)]
struct Lines {
    stdout: Vec<u8>,
    stderr: Vec<u8>,
}

impl Lines {
    fn push(&mut self, stream: Stream, bytes: &[u8]) -> Vec<Line> {
        let begun = match stream {
            Stream::Stdout => &mut self.stdout,
            Stream::Stderr => &mut self.stderr,
        };
        let mut lines = Vec::new();
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            begun.extend_from_slice(part);
            // A line without an end is told in parts.
            if part.ends_with(b"\n") || begun.len() > HALF {
                lines.push((stream, String::from_utf8_lossy(begun).into_owned()));
                begun.clear();
            }
        }
        lines
    }

    fn finish(&mut self) -> Vec<Line> {
        let begun = [(Stream::Stdout, &mut self.stdout), (Stream::Stderr, &mut self.stderr)];
        let rest = begun.map(|(stream, begun)| (stream, std::mem::take(begun)));
        let rest = rest.into_iter().filter(|(_, bytes)| !bytes.is_empty());
        rest.map(|(stream, bytes)| (stream, String::from_utf8_lossy(&bytes).into_owned())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(pieces: &[(Stream, &str)]) -> Transcript {
        let mut transcript = Transcript::default();
        for (stream, text) in pieces {
            transcript.output(*stream, text.as_bytes());
        }
        transcript
    }

    #[test]
    fn streams_are_in_order() {
        use Stream::{Stderr, Stdout};

        let transcript = heard(&[(Stdout, "a"), (Stdout, "b\nc"), (Stderr, "x\n"), (Stdout, "d\n"), (Stderr, "y")]);
        assert_eq!(transcript.text(), "ab\ncx\nd\ny");
        let lines = [(Stdout, "ab\n"), (Stderr, "x\n"), (Stdout, "cd\n"), (Stderr, "y")];
        assert_eq!(transcript.lines(), lines.map(|(stream, text)| (stream, text.to_owned())));
        let told = |lines: &[Line]| -> Vec<News> { lines.iter().cloned().map(News::Line).collect() };
        let chunks = [(Stdout, "ab\nc"), (Stderr, "x\n"), (Stdout, "d\n"), (Stderr, "y")];
        assert_eq!(transcript.chunks(), chunks.map(|(stream, text)| (stream, text.to_owned())));
        assert_eq!(transcript.take_news(), told(&transcript.lines()[..3]));
        assert_eq!(transcript.take_last_news(), told(&transcript.lines()[3..]));
        assert_eq!(transcript.take_last_news(), []);
    }

    #[test]
    fn what_is_done_for_a_run_is_told_and_no_output_of_it() {
        let mut transcript = Transcript::default();
        transcript.news("installing six");
        transcript.output(Stream::Stdout, b"a\n");
        let line = News::Line((Stream::Stdout, "a\n".to_owned()));
        assert_eq!(transcript.take_news(), [News::Doing("installing six".to_owned()), line]);
        assert_eq!(transcript.text(), "a\n");
    }

    #[test]
    fn what_waits_to_be_told_is_little() {
        let mut transcript = Transcript::default();
        for number in 0..100 {
            transcript.output(Stream::Stdout, format!("{number}{}\n", "x".repeat(HALF / 2)).as_bytes());
        }
        let news = transcript.take_news();
        let size: usize = news.iter().map(News::size).sum();
        assert!((HALF..=MOST_UNTOLD).contains(&size), "{size}");
        assert!(matches!(news.last(), Some(News::Line((_, line))) if line.starts_with("99x")));
        transcript.output(Stream::Stdout, b"more\n");
        assert_eq!(transcript.take_news(), [News::Line((Stream::Stdout, "more\n".to_owned()))]);
    }

    /// However much was printed before, a byte costs what a byte costs.
    #[test]
    fn bytes_one_by_one_are_cheap() {
        use rustix::time::{ClockId, clock_gettime};

        let mut transcript = Transcript::default();
        transcript.output(Stream::Stdout, &vec![b'x'; 4 * HALF]);
        let start = clock_gettime(ClockId::ThreadCPUTime).tv_sec;
        for _ in 0..200_000 {
            transcript.output(Stream::Stdout, b"x");
        }
        let took = clock_gettime(ClockId::ThreadCPUTime).tv_sec - start;
        assert!(took < 3, "{took} s");
    }

    #[test]
    fn a_flood_keeps_its_head_and_its_tail() {
        let mut transcript = heard(&[(Stream::Stdout, "first\n")]);
        for number in 0..40_000 {
            let stream = if number % 2 == 0 { Stream::Stdout } else { Stream::Stderr };
            transcript.output(stream, format!("line {number:08} {}\n", "x".repeat(100)).as_bytes());
        }
        let text = transcript.text();
        assert!(text.starts_with("first\nline 00000000 x") && text.ends_with("x\n"), "{}", &text[..100]);
        assert!(text.contains(" bytes dropped …]\n") && text.len() < 2 * HALF + 100, "{}", text.len());
        assert!(text.lines().any(|line| line.starts_with("line 00039999")));
    }
}
