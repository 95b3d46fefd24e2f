//! A value of `QuickJS`, which is 64 bits in WebAssembly: the upper half says what it is, the lower half is the number, or where the thing is in
//! memory. What the lower half points to is the engine's own; nothing here follows it.

/// A JavaScript value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Value(pub(super) u64);

const TAG_STRING: i32 = -7;
const TAG_STRING_ROPE: i32 = -6;
const TAG_INT: i32 = 0;
const TAG_BOOL: i32 = 1;
const TAG_UNDEFINED: i32 = 3;
const TAG_EXCEPTION: i32 = 6;
const TAG_FIRST: i32 = -9;
const TAG_FLOAT: i32 = 8;
/// What is added to a number's bits so that they look like none of the tags.
const FLOAT_OFFSET: u64 = (0x7ff8_0000 + TAG_FIRST.unsigned_abs() as u64 + 1) << 32;

impl Value {
    pub(super) const UNDEFINED: Self = Self::tagged(TAG_UNDEFINED, 0);

    const fn tagged(tag: i32, payload: u32) -> Self {
        Self((tag.cast_unsigned() as u64) << 32 | payload as u64)
    }

    pub(super) const fn int(number: i32) -> Self {
        Self::tagged(TAG_INT, number.cast_unsigned())
    }

    /// True or false, as C has them.
    pub(super) fn bool(value: i32) -> Self {
        Self::tagged(TAG_BOOL, u32::from(value != 0))
    }

    pub(super) fn float(number: f64) -> Self {
        // All that are not a number are one.
        let bits = if number.is_nan() { 0x7ff8_0000_0000_0000 } else { number.to_bits() };
        Self(bits.wrapping_sub(FLOAT_OFFSET))
    }

    fn tag(self) -> i32 {
        let tag = ((self.0 >> 32) as u32).cast_signed();
        // Every other pattern is a number.
        if (TAG_FIRST..TAG_FLOAT).contains(&tag) { tag } else { TAG_FLOAT }
    }

    fn payload(self) -> u32 {
        let [a, b, c, d, ..] = self.0.to_le_bytes();
        u32::from_le_bytes([a, b, c, d])
    }

    /// Whether it is a thing in memory that has to be freed. Numbers and the like are not.
    pub(super) fn is_counted(self) -> bool {
        self.tag() < 0
    }

    pub(super) fn is_undefined(self) -> bool {
        self.tag() == TAG_UNDEFINED
    }

    pub(super) fn is_exception(self) -> bool {
        self.tag() == TAG_EXCEPTION
    }

    pub(super) fn is_string(self) -> bool {
        matches!(self.tag(), TAG_STRING | TAG_STRING_ROPE)
    }

    /// The number that it is; of anything else NaN.
    pub(super) fn number(self) -> f64 {
        match self.tag() {
            TAG_INT | TAG_BOOL => f64::from(self.payload().cast_signed()),
            TAG_FLOAT => f64::from_bits(self.0.wrapping_add(FLOAT_OFFSET)),
            _ => f64::NAN,
        }
    }

    pub(super) fn is_true(self) -> bool {
        self.tag() == TAG_BOOL && self.payload() != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_what_the_engine_takes_them_for() {
        for number in [0.0, -0.0, 1.5, -1.0e300, f64::INFINITY, f64::MIN_POSITIVE] {
            assert_eq!(Value::float(number).number().to_bits(), number.to_bits());
        }
        assert!(Value::float(f64::NAN).number().is_nan());
        assert_eq!(Value::int(-7).number().to_bits(), (-7.0_f64).to_bits());
        assert!(Value::UNDEFINED.is_undefined() && Value::UNDEFINED.number().is_nan());
        assert!(Value::bool(1).is_true() && !Value::bool(0).is_true());
    }
}
