//! What wishes were answered with.

use std::collections::HashMap;
use std::fs;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::store::Store;

/// The outcome of a resolution.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Answer {
    /// Seconds since 1970.
    at: u64,
    pub(crate) verdict: Verdict,
    /// Imports that nothing provides.
    pub(crate) unknown: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Verdict {
    /// It is all in this layer.
    Layer(String),
    /// There is nothing to install.
    Nothing,
    /// Not on this target, and why.
    Unsuited(String),
}

/// How long the newest version of back then is good enough. Whoever wants another names it.
pub(crate) const GOOD_FOR: Duration = Duration::from_hours(7 * 24);
/// How long an import that nothing provides is not looked for again.
const UNKNOWN_FOR: Duration = Duration::from_mins(30);

impl Answer {
    pub(crate) fn new(verdict: Verdict, unknown: Vec<String>) -> Self {
        Self { at: now(), verdict, unknown }
    }

    fn is_good(&self) -> bool {
        let good_for = if self.unknown.is_empty() { GOOD_FOR } else { UNKNOWN_FOR };
        // One from the future was made before the clock was set back: nobody knows how old it is.
        now().checked_sub(self.at).is_some_and(|age| age < good_for.as_secs())
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

/// Answers, in memory and on the store.
#[derive(Debug, Default)]
pub(crate) struct Answers {
    known: Mutex<HashMap<String, Answer>>,
}

impl Answers {
    /// The most that are kept in memory. More wishes than this are somebody's game.
    const MOST: usize = 10_000;

    /// In memory only: what is asked first.
    pub(crate) fn recall(&self, key: &str) -> Option<Answer> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(key).filter(|answer| answer.is_good()).cloned()
    }

    /// On the store too.
    pub(crate) fn look_up(&self, key: &str, store: &Store) -> Option<Answer> {
        let text = fs::read(store.path("answers", &format!("{key}.json"))).ok()?;
        let answer: Answer = serde_json::from_slice(&text).ok().filter(Answer::is_good)?;
        self.remember(key, answer.clone());
        Some(answer)
    }

    /// For this process and others. If the others cannot be told, it costs them a resolution.
    pub(crate) fn keep(&self, key: &str, answer: Answer, store: &Store) {
        if let Ok(text) = serde_json::to_vec(&answer) {
            store.write("answers", &format!("{key}.json"), &text).ok();
        }
        self.remember(key, answer);
    }

    fn remember(&self, key: &str, answer: Answer) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= Self::MOST {
            known.clear();
        }
        known.insert(key.to_owned(), answer);
    }
}
