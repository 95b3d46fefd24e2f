//! Texts and bytes, between the host and the engine's memory.
//!
//! Large ones stay in the engine's memory and are processed in pieces: the host's own memory is not the guest's to
//! fill, and between two pieces a run can be ended.

use std::borrow::Cow;

use wasmtime::Result;

use super::{Js, LENGTH_AT, Scope, Stop, outside};
use crate::guest::Guest;
use crate::javascript::value::Value;

/// How much is done before checking on the run again.
pub(in crate::javascript) const PIECE: usize = 1 << 20;

/// The longest text that the host takes as a whole: a name, or a text to parse, for which the parser's own limit is
/// lower.
const LONGEST_TEXT: usize = 16 << 20;

/// Bytes in the engine's memory.
#[derive(Debug, Clone, Copy)]
pub(in crate::javascript) struct Place {
    pointer: u32,
    length: u32,
    owner: Owner,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    /// An array that is looked at.
    Array,
    /// A text that the engine has written out, and frees.
    Text,
}

impl<S: Scope> Js<'_, S> {
    /// A value as text, converted if it is none.
    pub(in crate::javascript) fn text(&mut self, value: Value) -> Result<String, Stop> {
        let text = self.with_text(value, |bytes, _| Ok((bytes.len() <= LONGEST_TEXT).then(|| from_wtf8(bytes))))?;
        text.ok_or_else(|| self.throw_out_of_memory())
    }

    /// The beginning of a text.
    pub(in crate::javascript) fn text_up_to(&mut self, value: Value, most: usize) -> Result<String, Stop> {
        self.with_text(value, |bytes, _| Ok(from_wtf8(beginning(bytes, most))))
    }

    /// Between two pieces: stops if the run has to end, or is asked to.
    pub(in crate::javascript) fn look_up(&mut self) -> Result<(), Stop> {
        let (_, guest) = Guest::split(self.scope)?;
        if guest.should_stop() { Err(self.throw_uncatchable()) } else { Ok(()) }
    }

    /// Where the bytes of a text are, in UTF-8 but for halves of surrogate pairs.
    fn place_of_text(&mut self, value: Value) -> Result<Place, Stop> {
        let length_at = self.places.table + LENGTH_AT;
        let parameters = (self.context(), length_at, value.0, 0_u32);
        let pointer = self.call::<_, u32>("JS_ToCStringLen2", parameters)?;
        if pointer == 0 {
            return Err(Stop::Thrown);
        }
        let length = u32::from_le_bytes(self.read(length_at)?);
        Ok(Place { pointer, length, owner: Owner::Text })
    }

    /// The same of a `Uint8Array`.
    fn place_of_array(&mut self, value: Value) -> Result<Place, Stop> {
        let length_at = self.places.table + LENGTH_AT;
        let parameters = (self.context(), length_at, value.0);
        let pointer = self.call::<_, u32>("JS_GetUint8Array", parameters)?;
        let length = u32::from_le_bytes(self.read(length_at)?);
        if pointer == 0 && length > 0 {
            return Err(Stop::Thrown);
        }
        Ok(Place { pointer, length, owner: Owner::Array })
    }

    fn leave(&mut self, place: Place) -> Result<()> {
        match place.owner {
            Owner::Array => Ok(()),
            Owner::Text => {
                let context = self.context();
                self.call::<_, ()>("JS_FreeCString", (context, place.pointer))
            }
        }
    }

    /// Goes through bytes in pieces, none of which ends within a character.
    fn go_through(&mut self, place: Place, mut take: impl FnMut(&mut [u8])) -> Result<(), Stop> {
        let mut done = 0;
        loop {
            let (memory, _) = Guest::split(self.scope)?;
            let rest = slice_mut(memory, place)?.get_mut(done..).unwrap_or_default();
            let length = beginning(rest, PIECE).len();
            let is_last = length == rest.len();
            take(rest.get_mut(..length).unwrap_or_default());
            if is_last {
                return Ok(());
            }
            done += length;
            self.look_up()?;
        }
    }

    /// Hands the bytes of a `Uint8Array` over in pieces, or of a text in UTF-8.
    pub(in crate::javascript) fn with_pieces(&mut self, value: Value, mut take: impl FnMut(&[u8])) -> Result<(), Stop> {
        let place = if value.is_string() { self.place_of_text(value)? } else { self.place_of_array(value)? };
        let gone_through = self.go_through(place, |piece| {
            if place.owner == Owner::Text {
                mend(piece);
            }
            take(piece);
        });
        self.leave(place)?;
        gone_through
    }

    /// The UTF-8 of a text, as a `Uint8Array`.
    pub(in crate::javascript) fn encoded(&mut self, value: Value) -> Result<Value, Stop> {
        let place = self.place_of_text(value)?;
        let encoded = match self.go_through(place, mend) {
            Ok(()) => self.new_bytes_at(place.pointer, place.length),
            Err(stop) => Err(stop),
        };
        self.leave(place)?;
        encoded
    }

    /// The text that bytes are in UTF-8, with a replacement for what is none.
    pub(in crate::javascript) fn decoded(&mut self, value: Value) -> Result<Value, Stop> {
        let place = if value.is_string() { self.place_of_text(value)? } else { self.place_of_array(value)? };
        let decoded = self.decoded_at(place);
        self.leave(place)?;
        decoded
    }

    /// The same of bytes that the caller has put there.
    pub(in crate::javascript) fn new_text_at(&mut self, pointer: u32, length: u32) -> Result<Value, Stop> {
        self.decoded_at(Place { pointer, length, owner: Owner::Array })
    }

    fn decoded_at(&mut self, place: Place) -> Result<Value, Stop> {
        let (mut length, mut is_text) = (0_usize, true);
        self.go_through(place, |piece| {
            let mended = String::from_utf8_lossy(piece);
            is_text &= matches!(mended, Cow::Borrowed(_));
            length += mended.len();
        })?;
        if is_text {
            return self.text_at(place.pointer, place.length);
        }
        let Ok(length) = u32::try_from(length) else { return Err(self.throw_out_of_memory()) };
        let pointer = self.allocate(length)?;
        let text = match self.mend_into(place, pointer) {
            Ok(()) => self.text_at(pointer, length),
            Err(stop) => Err(stop),
        };
        self.release(pointer)?;
        text
    }

    fn mend_into(&mut self, place: Place, target: u32) -> Result<(), Stop> {
        let (mut done, mut to) = (0, target);
        loop {
            let (memory, _) = Guest::split(self.scope)?;
            let rest = slice_mut(memory, place)?.get(done..).unwrap_or_default();
            let piece = beginning(rest, PIECE);
            let is_last = piece.len() == rest.len();
            done += piece.len();
            let text = String::from_utf8_lossy(piece).into_owned();
            self.write(to, text.as_bytes())?;
            if is_last {
                return Ok(());
            }
            to = to.saturating_add(u32::try_from(text.len()).map_err(wasmtime::Error::from)?);
            self.look_up()?;
        }
    }

    fn text_at(&mut self, pointer: u32, length: u32) -> Result<Value, Stop> {
        let parameters = (self.context(), pointer, length);
        let value = Value(self.call("JS_NewStringLen", parameters)?);
        if value.is_exception() { Err(Stop::Thrown) } else { Ok(value) }
    }

    /// Hands the bytes of a text over, in UTF-8 but for halves of surrogate pairs, without a copy.
    pub(in crate::javascript) fn with_text<T>(
        &mut self,
        value: Value,
        take: impl FnOnce(&[u8], &mut Guest) -> Result<T>,
    ) -> Result<T, Stop> {
        let place = self.place_of_text(value)?;
        let (memory, guest) = Guest::split(self.scope)?;
        let taken = take(slice_mut(memory, place)?, guest)?;
        self.leave(place)?;
        Ok(taken)
    }

    /// Hands the bytes of a `Uint8Array` over, or of a text in UTF-8.
    pub(in crate::javascript) fn with_bytes<T>(
        &mut self,
        value: Value,
        take: impl FnOnce(&[u8], &mut Guest) -> Result<T>,
    ) -> Result<T, Stop> {
        let is_text = value.is_string();
        let place = if is_text { self.place_of_text(value)? } else { self.place_of_array(value)? };
        let mended = if is_text { self.go_through(place, mend) } else { Ok(()) };
        let taken = match mended {
            Ok(()) => {
                let (memory, guest) = Guest::split(self.scope)?;
                take(slice_mut(memory, place)?, guest).map_err(Stop::from)
            }
            Err(stop) => Err(stop),
        };
        self.leave(place)?;
        taken
    }

    pub(in crate::javascript) fn new_text(&mut self, text: &str) -> Result<Value, Stop> {
        self.new_from(text.as_bytes(), "JS_NewStringLen")
    }

    pub(in crate::javascript) fn new_bytes(&mut self, bytes: &[u8]) -> Result<Value, Stop> {
        self.new_from(bytes, "JS_NewUint8ArrayCopy")
    }

    fn new_from(&mut self, bytes: &[u8], function: &str) -> Result<Value, Stop> {
        let length = u32::try_from(bytes.len()).map_err(wasmtime::Error::from)?;
        let Some(pointer) = self.put(bytes)? else { return Err(self.throw_out_of_memory()) };
        let parameters = (self.context(), pointer, length);
        let value = Value(self.call(function, parameters)?);
        self.release(pointer)?;
        if value.is_exception() { Err(Stop::Thrown) } else { Ok(value) }
    }

    /// Room for `length` bytes, which the caller fills and releases.
    pub(in crate::javascript) fn allocate(&mut self, length: u32) -> Result<u32, Stop> {
        match self.call::<u32, u32>("malloc", length)? {
            0 => Err(self.throw_out_of_memory()),
            pointer => Ok(pointer),
        }
    }

    /// A `Uint8Array` of bytes that are in memory already.
    pub(in crate::javascript) fn new_bytes_at(&mut self, pointer: u32, length: u32) -> Result<Value, Stop> {
        let parameters = (self.context(), pointer, length);
        let value = Value(self.call("JS_NewUint8ArrayCopy", parameters)?);
        if value.is_exception() { Err(Stop::Thrown) } else { Ok(value) }
    }

    /// A C string.
    pub(in crate::javascript) fn c_string(&mut self, pointer: u32) -> Result<String> {
        let (memory, _) = Guest::split(self.scope)?;
        let bytes = memory.get(pointer as usize..).unwrap_or_default();
        let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
        Ok(String::from_utf8_lossy(bytes.get(..end).unwrap_or_default()).into_owned())
    }
}

fn slice_mut(memory: &mut [u8], place: Place) -> Result<&mut [u8]> {
    let bytes = memory.get_mut(place.pointer as usize..).and_then(|rest| rest.get_mut(..place.length as usize));
    bytes.ok_or_else(outside)
}

/// Not more than `most` bytes, and no character of UTF-8 in part: no byte that begins one belongs to what is before it.
fn beginning(bytes: &[u8], most: usize) -> &[u8] {
    let Some(beginning) = bytes.get(..most).filter(|_| bytes.len() > most) else { return bytes };
    let last = beginning.iter().rev().take(3).position(|byte| *byte >= 0xc0);
    last.and_then(|last| beginning.get(..most - last - 1)).filter(|short| !short.is_empty()).unwrap_or(beginning)
}

/// Puts a replacement in the place of each half of a surrogate pair, which takes as many bytes.
fn mend(piece: &mut [u8]) {
    if std::str::from_utf8(piece).is_ok() {
        return;
    }
    let mut at = 0;
    while let Some(rest) = piece.get_mut(at..).filter(|rest| rest.len() >= 3) {
        if let [first @ 0xed, second @ 0xa0..=0xbf, third, ..] = rest {
            (*first, *second, *third) = (0xef, 0xbf, 0xbd);
        }
        at += 1;
    }
}

/// Text of JavaScript: UTF-8, except that half a surrogate pair is written like a character of its own. One U+FFFD stands for each.
fn from_wtf8(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        // Such a half is three bytes, each of which is its own invalid chunk; only the first starts one.
        if !chunk.invalid().is_empty() && chunk.invalid().first().is_some_and(|byte| *byte >= 0xc0) {
            text.push(char::REPLACEMENT_CHARACTER);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_end_where_characters_do() {
        let text = "aé€🎉".repeat(50);
        for most in 4..text.len() + 2 {
            let (mut rest, mut pieces) = (text.as_bytes(), 0);
            while !rest.is_empty() {
                let piece = beginning(rest, most);
                assert!(std::str::from_utf8(piece).is_ok() && !piece.is_empty() && piece.len() <= most, "{most}");
                rest = &rest[piece.len()..];
                pieces += 1;
            }
            assert!(pieces <= text.len().div_ceil(most - 3), "{most}");
        }
        // Of what is no text too: what it is replaced by is the same.
        let broken: Vec<u8> = (0..=255_u8).chain(b"\xf0\x9f\x8e\xe2\x82\xc3\x80\x80\x80\x80\xff".repeat(20)).collect();
        for most in 4..40 {
            let (mut rest, mut text) = (broken.as_slice(), String::new());
            while !rest.is_empty() {
                let piece = beginning(rest, most);
                text.push_str(&String::from_utf8_lossy(piece));
                rest = &rest[piece.len()..];
            }
            assert_eq!(text, String::from_utf8_lossy(&broken), "{most}");
        }
    }

    #[test]
    fn halves_are_mended_where_they_are() {
        let mut text = b"a\xed\xa0\x80b\xed\xb0\x80\xed\x9f\xbf\xed\xa0".to_vec();
        mend(&mut text);
        assert_eq!(text, b"a\xef\xbf\xbdb\xef\xbf\xbd\xed\x9f\xbf\xed\xa0");
    }

    #[test]
    fn half_a_pair_is_one_replacement() {
        assert_eq!(from_wtf8("a€🎉".as_bytes()), "a€🎉");
        assert_eq!(from_wtf8(b"a\xed\xa0\x80b\xed\xb0\x80"), "a\u{fffd}b\u{fffd}");
    }
}
