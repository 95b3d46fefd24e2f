//! What a mistyped name was probably meant to be.

/// Longer names are not looked up.
const LONGEST: usize = 100;
/// How similar two names must be to count as the same, from 0 to 1.
const ALIKE: f64 = 0.85;

/// The known name that is most like the given one, if any is similar enough.
pub fn nearest<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if given.len() > LONGEST {
        return None;
    }
    let given = given.to_lowercase();
    let scored = known.into_iter().map(|name| (strsim::jaro_winkler(&given, name), name));
    let (score, best) = scored.max_by(|(one, _), (other, _)| one.total_cmp(other))?;
    (score > ALIKE).then_some(best)
}
