//! What somebody may have meant.

/// The longest name that somebody may have meant something by.
const LONGEST: usize = 100;
/// How alike two names are that may be the same, from 0 to 1.
const ALIKE: f64 = 0.85;

/// The known name that is most like the given one, if it is like it at all.
pub fn nearest<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if given.len() > LONGEST {
        return None;
    }
    let given = given.to_lowercase();
    let scored = known.into_iter().map(|name| (strsim::jaro_winkler(&given, name), name));
    let (score, best) = scored.max_by(|(one, _), (other, _)| one.total_cmp(other))?;
    (score > ALIKE).then_some(best)
}
