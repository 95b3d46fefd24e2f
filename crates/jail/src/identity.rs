//! Who a guest is to the kernel: never uid 0, and under a root server a user of its own.

use std::collections::BTreeSet;
use std::fs;

/// How guests' user ids are chosen.
#[derive(Debug)]
pub(crate) enum Identities {
    /// The server is an ordinary user (or "root" of a namespace that holds just one): guests are that user, in their own user namespace.
    Same { user: u32, group: u32 },
    /// The server is root: each of its live runs has an id of its own. Servers pick their ranges by their launchers'
    /// pids. In containers, which may all have the same pids, and in a small id map, two servers may pick the same ids.
    Own { first: u32, count: u32, used: BTreeSet<u32> },
}

/// Well above what distributions, systemd's dynamic users and subordinate id ranges hand out by default.
const PREFERRED_FIRST: u32 = 2_000_000_000;
/// How many ids one launcher has: enough for every launcher alive in a pid namespace to have a range of its own. Runs
/// beyond that wait for an id.
const PREFERRED_COUNT: u32 = 512;
/// The largest number of pids that the kernel allows.
const LARGEST_PID: u32 = 1 << 22;

impl Identities {
    pub(crate) fn choose() -> Self {
        let user = rustix::process::geteuid().as_raw();
        let group = rustix::process::getegid().as_raw();
        if user != 0 {
            return Self::Same { user, group };
        }
        // The ids that exist in this user namespace. Without a readable map there is nothing to choose from.
        let map = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
        match range_in(&map, std::process::id()) {
            Some((first, count)) => Self::Own { first, count, used: BTreeSet::new() },
            None => Self::Same { user, group },
        }
    }

    /// Whether guests have ids of their own, which takes the right to set ids.
    pub(crate) fn are_own(&self) -> bool {
        matches!(self, Self::Own { .. })
    }

    /// Whether all are in use.
    pub(crate) fn are_taken(&self) -> bool {
        match self {
            Self::Same { .. } => false,
            Self::Own { count, used, .. } => used.len() as u64 >= u64::from(*count),
        }
    }

    /// The user and group id of the next run, as this process's user namespace counts them. `None` when all are in use.
    pub(crate) fn take(&mut self) -> Option<(u32, u32)> {
        match self {
            Self::Same { user, group } => Some((*user, *group)),
            Self::Own { first, count, used } => {
                let slot = (0..*count).find(|slot| !used.contains(slot))?;
                used.insert(slot);
                Some((*first + slot, *first + slot))
            }
        }
    }

    /// Gives an id back, once no process has it.
    pub(crate) fn give_back(&mut self, id: u32) {
        match self {
            Self::Same { .. } => {}
            Self::Own { first, used, .. } => {
                used.remove(&id.saturating_sub(*first));
            }
        }
    }
}

/// The ids to use out of those in a uid map: the preferred ones, else the upper end of the longest range, never 0.
fn range_in(map: &str, launcher: u32) -> Option<(u32, u32)> {
    let ranges = map.lines().filter_map(|line| {
        let mut fields = line.split_whitespace().map(str::parse::<u32>);
        match (fields.next()?, fields.next()?, fields.next()?) {
            (Ok(first), Ok(_), Ok(count)) => Some((first, count)),
            _ => None,
        }
    });
    let (first, count) = ranges.max_by_key(|(_, count)| *count)?;
    let end = first.saturating_add(count);
    if first <= PREFERRED_FIRST && end >= PREFERRED_FIRST + LARGEST_PID * PREFERRED_COUNT {
        return Some((PREFERRED_FIRST + (launcher % LARGEST_PID) * PREFERRED_COUNT, PREFERRED_COUNT));
    }
    // A container usually has 65,536 ids, with its own users at the lower end.
    let usable = (count / 2).min(PREFERRED_COUNT);
    (usable > 0 && end - usable > 0).then_some((end - usable, usable))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges() {
        for (map, expected) in [
            ("         0          0 4294967295\n", Some((2_000_003_584, 512))),
            ("0 1000 1\n1 100000 65536\n", Some((65_025, 512))),
            ("0 1000 1\n", None),
            ("", None),
            ("garbage", None),
        ] {
            assert_eq!(range_in(map, 7), expected, "{map:?}");
        }
    }

    #[test]
    fn an_id_is_used_once_at_a_time() {
        let mut identities = Identities::Own { first: 10, count: 2, used: BTreeSet::new() };
        assert!(!identities.are_taken());
        assert_eq!([identities.take(), identities.take(), identities.take()], [Some((10, 10)), Some((11, 11)), None]);
        assert!(identities.are_taken());
        identities.give_back(10);
        assert!(!identities.are_taken());
        assert_eq!(identities.take(), Some((10, 10)));
    }
}
