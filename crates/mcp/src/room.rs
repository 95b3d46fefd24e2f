//! How large an answer may be. What a guest prints decides how large it would be; a client that gets a message above its limit drops the
//! connection, and everything else that goes on there.
//!
//! Clients of today take 1 MiB in an event over HTTP, and 10 MiB on a line. An answer has less than that, counted as JSON writes it,
//! where a control character takes six bytes. All of the output is in the run's resources, whose reader can ask for parts.

use sandbox::{Captured, LastValue, Outcome, SkipReason, SkippedFile};

/// What an answer may take, by how it travels.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Room {
    /// All of it. Pictures and links have what the rest leaves. So much of a resource is read in one piece.
    pub(crate) answer: usize,
    /// Of the standard streams together, in the structured result. One has what the other does not need.
    pub(crate) streams: usize,
    /// Of the names of files, which an answer has several times.
    names: usize,
}

impl Room {
    pub(crate) const EVENT: Self = Self { answer: 1_000_000, streams: 450_000, names: 40_000 };
    pub(crate) const LINE: Self = Self { answer: 9_000_000, streams: 6_000_000, names: 400_000 };
}

/// Of each stream in the text, which models read.
pub(crate) const TEXT_STREAM: usize = 48_000;
/// Of the last value, in the structured result
const VALUE: usize = 64_000;
/// and in the text.
pub(crate) const TEXT_VALUE: usize = 16_000;
/// Of an error's message, and of a compiler's warnings.
const MESSAGE: usize = 8_000;

/// What a character takes.
pub(crate) type Cost = fn(char) -> usize;

/// What a character takes in JSON.
pub(crate) fn cost(character: char) -> usize {
    match character {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        '\0'..=' ' if character != ' ' => 6,
        _ => character.len_utf8(),
    }
}

/// What a character takes in JSON that is itself a text in JSON.
pub(crate) fn cost_twice(character: char) -> usize {
    match character {
        '"' | '\\' => 4,
        '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 3,
        '\0'..=' ' if character != ' ' => 7,
        _ => character.len_utf8(),
    }
}

/// Whether there is more of the streams than text has room for.
pub(crate) fn is_more_than_text(outcome: &Outcome) -> bool {
    [&outcome.stdout, &outcome.stderr].iter().any(|stream| stream.dropped > 0 || encoded(&stream.text) > TEXT_STREAM)
}

/// What a text takes in JSON.
pub(crate) fn encoded(text: &str) -> usize {
    text.chars().map(cost).sum()
}

/// Takes out of an outcome what an answer has no room for.
pub(crate) fn fit(outcome: &mut Outcome, room: Room) {
    let half = room.streams / 2;
    let spare = |other: &Captured| half.saturating_sub(encoded(&other.text));
    let most = [half + spare(&outcome.stderr), half + spare(&outcome.stdout)];
    for (stream, most) in [&mut outcome.stdout, &mut outcome.stderr].into_iter().zip(most) {
        stream.shorten(most, cost);
    }
    if let Some(LastValue::Json(text) | LastValue::Printed(text)) = &mut outcome.value
        && encoded(text) > VALUE
    {
        // Half a value is no JSON.
        outcome.value = Some(LastValue::Printed(shortened(text, VALUE)));
    }
    if let Some(diagnostics) = &mut outcome.diagnostics {
        *diagnostics = shortened(diagnostics, MESSAGE);
    }
    if let Some(error) = &mut outcome.error {
        for text in [Some(&mut error.kind), Some(&mut error.message), error.hint.as_mut()].into_iter().flatten() {
            *text = shortened(text, MESSAGE);
        }
    }
    if let Some(promotion) = &mut outcome.promoted {
        promotion.reason = shortened(&promotion.reason, MESSAGE);
    }
    fit_names(outcome, room.names);
}

/// The head and the tail of a text that is too long.
pub(crate) fn shortened(text: &str, most: usize) -> String {
    shortened_by(cost, text, most)
}

fn shortened_by(cost: Cost, text: &str, most: usize) -> String {
    let mut kept = Captured { text: text.to_owned(), dropped: 0 };
    kept.shorten(most, cost);
    kept.text
}

/// Two texts that have room for this together. One has what the other does not need.
pub(crate) fn both_shortened(cost: Cost, texts: [&str; 2], most: usize) -> [String; 2] {
    let half = most / 2;
    let [spare_of_first, spare_of_second] =
        texts.map(|text| half.saturating_sub(text.chars().map(cost).sum::<usize>()));
    let [first, second] = texts;
    [shortened_by(cost, first, half + spare_of_second), shortened_by(cost, second, half + spare_of_first)]
}

/// The beginning of a text, as much of it as takes no more than `most` in JSON.
pub(crate) fn beginning(text: &str, most: usize) -> &str {
    let mut taken = 0;
    let over = text.char_indices().find(|(_, character)| {
        taken += cost(*character);
        taken > most
    });
    over.and_then(|(end, _)| text.get(..end)).unwrap_or(text)
}

fn fit_names(outcome: &mut Outcome, most: usize) {
    let mut room = most;
    let mut has_room = |name: &str| {
        let fits = encoded(name) <= room;
        room = room.saturating_sub(encoded(name));
        fits
    };
    let listed = outcome.files.iter().take_while(|file| has_room(file.path.as_str())).count();
    if let Some(first) = outcome.files.get(listed) {
        let path = shortened(first.path.as_str(), MESSAGE);
        outcome.skipped_files.insert(0, SkippedFile { path, reason: SkipReason::TooMany });
    }
    outcome.files.truncate(listed);
    let mut room = most;
    outcome.skipped_files.retain(|file| {
        let fits = encoded(&file.path) <= room;
        room = room.saturating_sub(encoded(&file.path));
        fits
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_texts_share_their_room() {
        let sizes = |texts: [&str; 2]| {
            both_shortened(cost_twice, texts, 1_000).map(|text| text.chars().map(cost_twice).sum::<usize>())
        };
        let [long, short] = ["\"".repeat(500), "\"".repeat(50)];
        assert_eq!(sizes([&short, &short]), [200, 200]);
        let marker = 40;
        for [first, second] in [sizes([&long, &short]), sizes([&long, &long]), sizes([&short, &long])] {
            assert!((950..1_000 + 2 * marker).contains(&(first + second)), "{first} and {second}");
        }
        assert_eq!(sizes([&long, &short])[1], 200);
    }

    #[test]
    fn characters_cost_what_json_takes() {
        for character in (0..0x3000).filter_map(char::from_u32) {
            let written = serde_json::to_string(&character).expect("JSON");
            assert_eq!(cost(character), written.len() - 2, "{character:?}");
            let written_twice = serde_json::to_string(&written).expect("JSON");
            // The quotes of the inner one take two bytes each.
            assert_eq!(cost_twice(character), written_twice.len() - 2 - 4, "{character:?}");
        }
    }
}
