//! Cells that are told to stop.

/// What became of them. A cell has a moment to stop. A busy machine may keep it waiting for as long, but not so often: not four times in a
/// row, and not one of three among all.
#[derive(Debug, Default)]
pub(crate) struct Told {
    kept: usize,
    lost: usize,
}

impl Told {
    pub(crate) const IN_A_ROW: usize = 4;

    /// One has stopped, and kept its state.
    pub(crate) fn kept(&mut self) {
        self.kept += 1;
    }

    /// One had to be ended.
    pub(crate) fn lost(&mut self) {
        self.lost += 1;
    }

    #[track_caller]
    pub(crate) fn assert_most_are_kept(&self, of: &str) {
        assert!(self.kept > 0 && self.lost * 2 <= self.kept, "{of}: {self:?}");
    }
}
