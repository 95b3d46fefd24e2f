use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Does something that must take no more CPU time than this, on whatever machine: what is linear has much to spare.
pub(crate) fn within<T>(most: Duration, work: impl FnOnce() -> T) -> T {
    let start = cpu_time();
    let done = work();
    let took = cpu_time().saturating_sub(start);
    assert!(took < most, "took {took:?}");
    done
}

fn cpu_time() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::from_secs(now.tv_sec.unsigned_abs()) + Duration::from_nanos(now.tv_nsec.unsigned_abs())
}
