//! Medians and percentiles.

use std::time::Duration;

/// Timings of one thing.
#[derive(Debug, Default)]
pub(crate) struct Timings(Vec<Duration>);

impl Timings {
    pub(crate) fn push(&mut self, duration: Duration) {
        self.0.push(duration);
    }

    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    /// The value that this share (0 to 1) of timings is below, in milliseconds.
    pub(crate) fn percentile(&self, share: f64) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "an index into a short list"
        )]
        let index = ((sorted.len() as f64 - 1.0) * share).round() as usize;
        sorted.get(index).map_or(f64::NAN, |duration| duration.as_secs_f64() * 1e3)
    }

    pub(crate) fn median(&self) -> f64 {
        self.percentile(0.5)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Timings;

    #[test]
    fn a_percentile_is_one_of_the_timings() {
        let mut timings = Timings::default();
        assert!(timings.median().is_nan());
        for milliseconds in [5, 1, 4, 2, 3] {
            timings.push(Duration::from_millis(milliseconds));
        }
        assert_eq!([0.0, 0.5, 0.99].map(|share| format!("{:.1}", timings.percentile(share))), ["1.0", "3.0", "5.0"]);
    }
}
