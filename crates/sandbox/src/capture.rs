//! Keeping the head and the tail of a stream whose length is up to the guest.

use std::collections::VecDeque;

use crate::Bytes;

/// Collects a stream up to a cap: the first half of the cap and the last half, and a count of what fell in between.
///
/// Costs at most the cap in memory, however much is pushed. A guest's first mistake shows at the start and its
/// traceback at the end, so both are worth more than the middle.
#[derive(Debug)]
pub struct Capture {
    head: Vec<u8>,
    head_cap: usize,
    tail: VecDeque<u8>,
    tail_cap: usize,
    dropped: u64,
}

/// What a [`Capture`] kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Captured {
    /// What was kept, as UTF-8: bytes that are not are replaced by U+FFFD, and a marker stands where bytes were dropped.
    pub text: String,
    /// How many bytes were not kept.
    pub dropped: u64,
}

impl Capture {
    /// Keeps at most `cap` bytes.
    pub fn new(cap: Bytes) -> Self {
        let cap = cap.as_usize();
        let tail_cap = cap / 2;
        Self { head: Vec::new(), head_cap: cap - tail_cap, tail: VecDeque::new(), tail_cap, dropped: 0 }
    }

    /// Takes the next bytes of the stream.
    pub fn push(&mut self, bytes: &[u8]) {
        let room = self.head_cap - self.head.len();
        let (to_head, rest) = bytes.split_at(room.min(bytes.len()));
        self.head.extend_from_slice(to_head);

        // Only the last `tail_cap` bytes of `rest` can survive; skip the others before they cost a copy.
        let (skipped, rest) = rest.split_at(rest.len().saturating_sub(self.tail_cap));
        let overflow = (self.tail.len() + rest.len()).saturating_sub(self.tail_cap);
        self.tail.drain(..overflow);
        self.tail.extend(rest);
        self.dropped += (skipped.len() + overflow) as u64;
    }

    /// What was kept. Where the head ends and the tail begins, cuts are moved to whole characters, so that a cut inside
    /// one does not show as an error in the guest's output; those bytes count as dropped.
    pub fn finish(mut self) -> Captured {
        if self.dropped == 0 {
            self.head.extend(self.tail);
            return Captured { text: into_text(self.head), dropped: 0 };
        }
        let head_excess = incomplete_suffix(&self.head);
        self.head.truncate(self.head.len() - head_excess);
        let tail = self.tail.make_contiguous();
        let tail_excess = tail.iter().take(3).take_while(|byte| is_continuation(**byte)).count();
        let tail = tail.get(tail_excess..).unwrap_or_default();
        let dropped = self.dropped + (head_excess + tail_excess) as u64;

        let mut text = into_text(self.head);
        text.push_str(&marker(dropped));
        text.push_str(&String::from_utf8_lossy(tail));
        Captured { text, dropped }
    }
}

impl Captured {
    /// Keeps less: as much of the head and the tail as costs no more than `most`, where `cost` gives the cost of each
    /// character. Anything cut earlier is covered by the same marker, with the total of what is gone.
    pub fn shorten(&mut self, most: usize, cost: impl Fn(char) -> usize) {
        if self.text.chars().map(&cost).sum::<usize>() <= most {
            return;
        }
        let earlier = marker(self.dropped);
        let cut = if self.dropped == 0 { None } else { self.text.split_once(&earlier) };
        let (head, tail) = cut.unwrap_or((&self.text, ""));
        let (kept_head, rest) = head.split_at(affordable(head.chars(), most / 2, &cost));
        // If nothing was cut before, head and tail are parts of the same text.
        let tail = if cut.is_some() { tail } else { rest };
        let gone_of_head = if cut.is_some() { rest.len() } else { 0 };
        let (gone, kept_tail) = tail.split_at(tail.len() - affordable(tail.chars().rev(), most / 2, &cost));
        let dropped = self.dropped + (gone_of_head + gone.len()) as u64;
        self.text = [kept_head, &marker(dropped), kept_tail].concat();
        self.dropped = dropped;
    }
}

fn marker(dropped: u64) -> String {
    format!("\n[… {dropped} bytes dropped …]\n")
}

/// The length in bytes of the leading characters that together cost no more than `most`.
fn affordable(characters: impl Iterator<Item = char>, most: usize, cost: impl Fn(char) -> usize) -> usize {
    let mut spent = 0;
    let within = characters.take_while(|character| {
        spent += cost(*character);
        spent <= most
    });
    within.map(char::len_utf8).sum()
}

fn into_text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

fn is_continuation(byte: u8) -> bool {
    byte & 0b1100_0000 == 0b1000_0000
}

/// How many bytes at the end belong to a character whose rest is missing.
fn incomplete_suffix(bytes: &[u8]) -> usize {
    for (back, byte) in bytes.iter().rev().take(4).enumerate() {
        let length = match byte {
            0xc0..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf7 => 4,
            _ if is_continuation(*byte) => continue,
            _ => return 0,
        };
        return if back + 1 < length { back + 1 } else { 0 };
    }
    0
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn capture(cap: u64, chunks: &[&[u8]]) -> Captured {
        let mut capture = Capture::new(Bytes::new(cap));
        for chunk in chunks {
            capture.push(chunk);
        }
        capture.finish()
    }

    #[test]
    fn keeps_head_and_tail() {
        assert_eq!(capture(8, &[b"abcd", b"efgh"]), Captured { text: "abcdefgh".to_owned(), dropped: 0 });
        assert_eq!(
            capture(8, &[b"abcdef", b"ghijkl"]),
            Captured { text: "abcd\n[… 4 bytes dropped …]\nijkl".to_owned(), dropped: 4 }
        );
        assert_eq!(capture(0, &[b"abc"]).dropped, 3);
    }

    #[test]
    fn cuts_at_characters() {
        // "é" is two bytes; a cap of 6 would split one at each side of the gap.
        let kept = capture(6, &["éééééé".as_bytes()]);
        assert_eq!(kept, Captured { text: "é\n[… 8 bytes dropped …]\né".to_owned(), dropped: 8 });
    }

    #[test]
    fn invalid_bytes_are_replaced() {
        assert_eq!(capture(8, &[b"a\xffb"]).text, "a\u{fffd}b");
    }

    proptest! {
        #[test]
        fn any_split_gives_the_same(data in proptest::collection::vec(any::<u8>(), 0..200), cut in 0usize..200, cap in 0u64..100) {
            let cut = cut.min(data.len());
            let whole = capture(cap, &[&data]);
            prop_assert_eq!(&whole, &capture(cap, &[&data[..cut], &data[cut..]]));
            let length = data.len() as u64;
            prop_assert!(whole.dropped + cap + 6 >= length);
            prop_assert_eq!(whole.dropped == 0, length <= cap);
        }

        #[test]
        fn what_is_kept_is_the_head_and_the_tail(pieces in pieces(), cap in 0u16..300, most in 0usize..300) {
            let text = pieces.concat();
            let pieces: Vec<&[u8]> = pieces.iter().map(String::as_bytes).collect();
            let mut kept = capture(cap.into(), &pieces);
            assert_is_cut_of(&kept, &text, cap.into());
            let before = kept.clone();
            kept.shorten(most, char::len_utf8);
            if before.text.len() <= most {
                prop_assert_eq!(kept, before);
            } else {
                assert_is_cut_of(&kept, &text, most.min(cap.into()));
            }
        }

        #[test]
        fn bytes_cost_no_more_than_the_cap(chunks in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..300), 0..8), cap in 0u64..400) {
            let mut capture = Capture::new(Bytes::new(cap));
            for chunk in &chunks {
                capture.push(chunk);
                prop_assert!((capture.head.len() + capture.tail.len()) as u64 <= cap);
            }
        }
    }

    /// Output, some of which looks like our own marker.
    fn pieces() -> impl Strategy<Value = Vec<String>> {
        let piece = prop_oneof![
            4 => any::<String>(),
            2 => "[a-z\n]{0,40}",
            1 => (0u64..300).prop_map(marker),
            1 => Just("\n[… ".to_owned()),
        ];
        proptest::collection::vec(piece, 0..8)
    }

    /// Asserts that a head and a tail of the text are there, together no more than `most`, and that the rest is
    /// counted.
    fn assert_is_cut_of(kept: &Captured, text: &str, most: usize) {
        if kept.dropped == 0 {
            assert_eq!(kept.text, text);
            return;
        }
        let marker = marker(kept.dropped);
        let is_cut = |(at, _): (usize, &str)| {
            let (head, tail) = (&kept.text[..at], &kept.text[at + marker.len()..]);
            let gone = text.len() as u64 - kept.dropped;
            text.starts_with(head) && text.ends_with(tail) && (head.len() + tail.len()) as u64 == gone
        };
        // The text may contain the marker's words itself.
        assert!(kept.text.match_indices(&marker).any(is_cut), "{kept:?} of {text:?}");
        assert!(kept.text.len() <= most + marker.len(), "{kept:?} has more than {most}");
    }

    #[test]
    fn what_a_guest_prints_is_no_mark_of_ours() {
        let mut kept = Captured { text: format!("aaaa{}bbbb", marker(0)), dropped: 0 };
        let length = kept.text.len() as u64;
        kept.shorten(8, char::len_utf8);
        assert_eq!(kept, Captured { text: format!("aaaa{}bbbb", marker(length - 8)), dropped: length - 8 });
    }

    #[test]
    fn a_cut_that_a_head_reaches_is_marked_once() {
        let cost = |character: char| if character == '!' { 6 } else { character.len_utf8() };
        let mut kept = Captured { text: format!("aaaa{}!!!!!!!!!!!!", marker(9)), dropped: 9 };
        kept.shorten(72, cost);
        assert_eq!(kept, Captured { text: format!("aaaa{}!!!!!!", marker(15)), dropped: 15 });
    }

    #[test]
    fn less_is_kept_by_what_it_costs() {
        let cost = |character: char| if character == '!' { 6 } else { character.len_utf8() };
        let mut kept = Captured { text: "abcdefghijklmnop".to_owned(), dropped: 0 };
        kept.shorten(16, cost);
        assert_eq!(kept, Captured { text: "abcdefghijklmnop".to_owned(), dropped: 0 });
        kept.shorten(6, cost);
        assert_eq!(kept, Captured { text: "abc\n[… 10 bytes dropped …]\nnop".to_owned(), dropped: 10 });
        // Text that is cut twice has one marker.
        kept.shorten(4, cost);
        assert_eq!(kept, Captured { text: "ab\n[… 12 bytes dropped …]\nop".to_owned(), dropped: 12 });
        let mut dear = Captured { text: "!!!!é!!!!".to_owned(), dropped: 0 };
        dear.shorten(26, cost);
        assert_eq!(dear, Captured { text: "!!\n[… 6 bytes dropped …]\n!!".to_owned(), dropped: 6 });
    }
}
