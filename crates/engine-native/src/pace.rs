//! How fast a guest's output is read.

use std::time::Duration;

/// This much of a guest's output is read as fast as it comes. After that, where nothing is kept any more, each part is
/// followed by a rest: a program and a server that do nothing but move bytes can keep the processes that would end the
/// program from being scheduled at all.
const FREELY: usize = 256 << 20;
const PART: usize = 1 << 20;
const REST: Duration = Duration::from_millis(1);

/// The pace of one run, or of one cell.
#[derive(Debug)]
pub(crate) struct Pace {
    until_rest: usize,
}

impl Pace {
    pub(crate) fn new() -> Self {
        Self { until_rest: FREELY }
    }

    /// Counts bytes that were read, and rests if that is due.
    pub(crate) async fn rest_after(&mut self, count: usize) {
        self.until_rest = self.until_rest.saturating_sub(count);
        if self.until_rest == 0 {
            self.until_rest = PART;
            tokio::time::sleep(REST).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::timeout;

    use super::*;

    #[tokio::test]
    async fn rests_after_a_lot_and_then_after_each_part() {
        let mut pace = Pace::new();
        for (count, rests) in [(FREELY - 1, false), (1, true), (PART - 1, false), (PART, true), (1, false)] {
            let without_waiting = timeout(Duration::ZERO, pace.rest_after(count)).await;
            assert_eq!(without_waiting.is_err(), rests, "{count}");
        }
    }
}
