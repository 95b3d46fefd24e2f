//! Texts and bytes, between the host and the engine's memory.

use wasmtime::Result;

use super::{Js, LENGTH_AT, Scope, Stop, outside};
use crate::guest::Guest;
use crate::javascript::value::Value;

impl<S: Scope> Js<'_, S> {
    /// A value as text, converted if it is none.
    pub(in crate::javascript) fn text(&mut self, value: Value) -> Result<String, Stop> {
        self.with_text(value, |bytes, _| Ok(from_wtf8(bytes)))
    }

    /// Hands the bytes of a text over, in UTF-8 but for halves of surrogate pairs, without a copy.
    pub(in crate::javascript) fn with_text<T>(
        &mut self,
        value: Value,
        take: impl FnOnce(&[u8], &mut Guest) -> Result<T>,
    ) -> Result<T, Stop> {
        let length_at = self.places.table + LENGTH_AT;
        let parameters = (self.context(), length_at, value.0, 0_u32);
        let pointer = self.call::<_, u32>("JS_ToCStringLen2", parameters)?;
        if pointer == 0 {
            return Err(Stop::Thrown);
        }
        let length = u32::from_le_bytes(self.read(length_at)?);
        let (memory, guest) = Guest::split(self.scope)?;
        let taken = take(slice(memory, pointer, length)?, guest)?;
        let context = self.context();
        self.call::<_, ()>("JS_FreeCString", (context, pointer))?;
        Ok(taken)
    }

    /// Hands the bytes of a `Uint8Array` over, or of a text.
    pub(in crate::javascript) fn with_bytes<T>(
        &mut self,
        value: Value,
        take: impl FnOnce(&[u8], &mut Guest) -> Result<T>,
    ) -> Result<T, Stop> {
        if value.is_string() {
            return self.with_text(value, |bytes, guest| match std::str::from_utf8(bytes) {
                Ok(_) => take(bytes, guest),
                Err(_) => take(from_wtf8(bytes).as_bytes(), guest),
            });
        }
        let length_at = self.places.table + LENGTH_AT;
        let parameters = (self.context(), length_at, value.0);
        let pointer = self.call::<_, u32>("JS_GetUint8Array", parameters)?;
        let length = u32::from_le_bytes(self.read(length_at)?);
        if pointer == 0 && length > 0 {
            return Err(Stop::Thrown);
        }
        let (memory, guest) = Guest::split(self.scope)?;
        Ok(take(slice(memory, pointer, length)?, guest)?)
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

fn slice(memory: &[u8], pointer: u32, length: u32) -> Result<&[u8]> {
    let bytes = memory.get(pointer as usize..).and_then(|rest| rest.get(..length as usize));
    bytes.ok_or_else(outside)
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
    fn half_a_pair_is_one_replacement() {
        assert_eq!(from_wtf8("a€🎉".as_bytes()), "a€🎉");
        assert_eq!(from_wtf8(b"a\xed\xa0\x80b\xed\xb0\x80"), "a\u{fffd}b\u{fffd}");
    }
}
