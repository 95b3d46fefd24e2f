//! Amounts of memory and disk, with their unit.

use std::fmt;
use std::str::FromStr;

/// An amount of bytes. Written and parsed with binary units: `512MiB`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(u64);

impl Bytes {
    /// Exactly this many bytes.
    pub const fn new(bytes: u64) -> Self {
        Self(bytes)
    }

    /// So many KiB.
    pub const fn kib(count: u64) -> Self {
        Self(count.saturating_mul(1 << 10))
    }

    /// So many MiB.
    pub const fn mib(count: u64) -> Self {
        Self(count.saturating_mul(1 << 20))
    }

    /// So many GiB.
    pub const fn gib(count: u64) -> Self {
        Self(count.saturating_mul(1 << 30))
    }

    /// The number of bytes.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The number of bytes as a length in memory; saturates where `usize` is narrower.
    pub fn as_usize(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }

    /// Whole MiB, rounded down.
    pub const fn whole_mib(self) -> u64 {
        self.0 >> 20
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(&str, u32); 3] = [("GiB", 30), ("MiB", 20), ("KiB", 10)];
        for (unit, shift) in UNITS {
            let size = 1u64 << shift;
            if self.0 >= size {
                return if self.0.is_multiple_of(size) {
                    write!(f, "{} {unit}", self.0 / size)
                } else {
                    // Tenths in integers: 1.5 GiB.
                    let tenths = (u128::from(self.0) * 10) >> shift;
                    write!(f, "{}.{} {unit}", tenths / 10, tenths % 10)
                };
            }
        }
        write!(f, "{} bytes", self.0)
    }
}

/// Text that is not an amount of bytes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an amount of memory; write a number with KiB, MiB or GiB, such as `512MiB`")]
pub struct ParseBytesError(String);

impl FromStr for Bytes {
    type Err = ParseBytesError;

    /// Accepts `512MiB`, `512 mb`, `1g` and bare bytes. Units are binary however they are written: a limit that is 7 %
    /// larger than requested surprises nobody, one that is smaller does.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || ParseBytesError(text.chars().take(64).collect());
        let trimmed = text.trim();
        let split = trimmed.find(|c: char| !c.is_ascii_digit()).unwrap_or(trimmed.len());
        let (digits, unit) = trimmed.split_at(split);
        let number: u64 = digits.parse().map_err(|_| error())?;
        let factor = match unit.trim().to_ascii_lowercase().as_str() {
            "" | "b" => 1,
            "k" | "kb" | "kib" => 1 << 10,
            "m" | "mb" | "mib" => 1 << 20,
            "g" | "gb" | "gib" => 1u64 << 30,
            _ => return Err(error()),
        };
        number.checked_mul(factor).map(Self).ok_or_else(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_both_ways() {
        for (text, bytes, shown) in [
            ("512MiB", 512 << 20, "512 MiB"),
            ("1g", 1 << 30, "1 GiB"),
            ("1536 mb", 1536 << 20, "1.5 GiB"),
            ("0", 0, "0 bytes"),
            ("1000", 1000, "1000 bytes"),
        ] {
            assert_eq!(text.parse::<Bytes>().map(Bytes::get), Ok(bytes), "{text}");
            assert_eq!(Bytes::new(bytes).to_string(), shown);
        }
        for text in ["", "MiB", "-1", "1.5GiB", "12 parsecs", "99999999999999999999", "18446744073709551615k"] {
            assert!(text.parse::<Bytes>().is_err(), "{text}");
        }
    }
}
