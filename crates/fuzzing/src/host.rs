use std::time::Duration;

use belljar_wasi::{Host, Interrupted, OutputStream};

/// The world of a guest that has none: clocks stand still, output goes nowhere.
#[derive(Debug)]
pub(crate) struct NoHost;

impl Host for NoHost {
    fn realtime(&self) -> u64 {
        1_700_000_000_000_000_000
    }

    fn monotonic(&self) -> u64 {
        1_000
    }

    fn cpu_time(&self) -> u64 {
        1
    }

    fn sleep(&mut self, _: Duration) -> Result<(), Interrupted> {
        Ok(())
    }

    fn random(&mut self, buffer: &mut [u8]) {
        assert!(buffer.len() <= belljar_wasi::MAX_RANDOM as usize);
        buffer.fill(0xa5);
    }

    fn output(&mut self, _: OutputStream, bytes: &[u8]) {
        assert!(bytes.len() <= belljar_wasi::MAX_TRANSFER as usize);
    }
}
