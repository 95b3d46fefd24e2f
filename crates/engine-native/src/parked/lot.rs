//! Which interpreters wait, and how many: as many as are wanted and there is room for.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use super::Kind;

/// The memory that all waiting interpreters may use together. A Python uses some 10 MB, with pandas 70, a Node 45.
pub(super) const MEMORY: u64 = 224 << 20;
/// The same once nobody has wanted any of them for a while: an idle server should be small.
const IDLE_MEMORY: u64 = 56 << 20;
/// What an interpreter is assumed to use before one of its kind has been measured.
const UNKNOWN_SIZE: u64 = 80 << 20;
/// The most that wait, of all kinds together.
const MOST: usize = 16;
/// How many wait for programs of one kind at first.
const FEW: usize = 2;
/// The most for programs of one kind. A caller who wants more in a row waits longer for processors than for
/// interpreters.
const MOST_ALIKE: usize = 6;
/// How many kinds are remembered. Callers choose how many there are.
const MOST_KINDS: usize = 64;
/// How long the last of a kind waits without being wanted.
pub(super) const PATIENCE: Duration = Duration::from_mins(5);
/// How long the others of its kind wait.
pub(super) const SHORT_PATIENCE: Duration = Duration::from_mins(1);

/// All that wait, and what is known about the demand.
#[derive(Debug)]
pub(super) struct Lot<T> {
    /// Oldest first.
    waiting: Vec<Waiting<T>>,
    demand: HashMap<Kind, Demand>,
}

#[derive(Debug)]
struct Waiting<T> {
    kind: Kind,
    who: T,
    since: Instant,
}

#[derive(Debug, Clone, Copy)]
struct Demand {
    /// How many should wait.
    target: usize,
    /// What one uses, in bytes.
    size: u64,
    /// When one was last wanted.
    last: Instant,
}

/// Whether a program found an interpreter that was ready for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    Ready,
    None,
}

impl<T> Default for Lot<T> {
    fn default() -> Self {
        Self { waiting: Vec::new(), demand: HashMap::new() }
    }
}

impl<T> Lot<T> {
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// The best that waits for this kind, and the kind that it was started for.
    pub(super) fn take(&mut self, kind: &Kind) -> Option<(Kind, T)> {
        let fits = self.waiting.iter().enumerate().filter(|(_, waiting)| kind.is_served_by(&waiting.kind));
        // Among equals the oldest, which is the likeliest to be ready.
        let (best, _) = fits.rev().max_by_key(|(_, waiting)| waiting.kind.modules.len())?;
        let Waiting { kind, who, .. } = self.waiting.remove(best);
        Some((kind, who))
    }

    /// Notes that one of this kind was wanted.
    pub(super) fn learn(&mut self, kind: &Kind, found: Found, now: Instant) {
        if let Some(demand) = self.demand.get_mut(kind) {
            demand.last = now;
            let more = usize::from(found == Found::None);
            demand.target = (demand.target + more).clamp(FEW, MOST_ALIKE);
            return;
        }
        if self.demand.len() >= MOST_KINDS {
            let oldest = self.demand.iter().min_by_key(|(_, demand)| demand.last).map(|(kind, _)| kind.clone());
            self.demand.retain(|kind, _| Some(kind) != oldest.as_ref());
        }
        self.demand.insert(kind.clone(), Demand { target: FEW, size: UNKNOWN_SIZE, last: now });
    }

    /// Notes how much memory a waiting one of this kind used when its program came.
    pub(super) fn learn_size(&mut self, kind: &Kind, size: u64) {
        if let Some(demand) = self.demand.get_mut(kind) {
            demand.size = size;
        }
    }

    /// Whether one more of this kind should wait. Makes room for it.
    pub(super) fn wants(&mut self, kind: &Kind) -> bool {
        let Some(demand) = self.demand.get(kind).copied() else { return false };
        let alike = self.waiting.iter().filter(|waiting| waiting.kind == *kind).count();
        // Its kind may use all of the memory, but must not push out more of its own kind.
        if alike >= demand.target || (alike + 1) as u64 * demand.size > MEMORY {
            return false;
        }
        while self.size() + demand.size > MEMORY || self.waiting.len() >= MOST {
            let Some(oldest) = self.waiting.iter().position(|waiting| waiting.kind != *kind) else { return false };
            self.waiting.remove(oldest);
        }
        true
    }

    pub(super) fn push(&mut self, kind: Kind, who: T, now: Instant) {
        self.waiting.push(Waiting { kind, who, since: now });
        // Several may have been started at the same time, each when there was room for one.
        while self.size() > MEMORY || self.waiting.len() > MOST {
            self.waiting.remove(0);
        }
    }

    /// Gives up those that nobody has wanted for too long.
    pub(super) fn tidy(&mut self, now: Instant) {
        let Self { waiting, demand, .. } = self;
        let quiet = |demand: &Demand| now.duration_since(demand.last);
        demand.retain(|_, demand| quiet(demand) < PATIENCE);
        for demand in demand.values_mut().filter(|demand| quiet(demand) > SHORT_PATIENCE) {
            demand.target = 1;
        }
        let mut seen: HashMap<Kind, usize> = HashMap::new();
        waiting.retain(|waiting| {
            let alike = seen.entry(waiting.kind.clone()).or_default();
            *alike += 1;
            now.duration_since(waiting.since) < PATIENCE
                && demand.get(&waiting.kind).is_some_and(|demand| *alike <= demand.target)
        });
        if demand.values().all(|demand| quiet(demand) > SHORT_PATIENCE) {
            while self.size() > IDLE_MEMORY {
                self.waiting.remove(0);
            }
        }
    }

    /// What all that wait use together.
    fn size(&self) -> u64 {
        let size = |kind: &Kind| self.demand.get(kind).map_or(UNKNOWN_SIZE, |demand| demand.size);
        self.waiting.iter().map(|waiting| size(&waiting.kind)).sum()
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use sandbox::{LimitsRequest, Policy, Request};

    use super::*;

    fn kind(source: &str, modules: &[&str]) -> Kind {
        let request = Request { limits: LimitsRequest::default(), ..Request::new("python", "1") };
        let plan = Policy::default().admit(request).expect("admitted");
        Kind {
            language: "python",
            program: PathBuf::from("/usr/bin/python3"),
            source: source.to_owned(),
            layer: None,
            limits: *plan.limits(),
            modules: modules.iter().map(|&module| module.to_owned()).collect(),
        }
    }

    /// Has as many wait as it wants, and returns how many were added.
    fn fill(lot: &mut Lot<u32>, kind: &Kind, now: Instant) -> usize {
        let wanted = std::iter::from_fn(|| lot.wants(kind).then(|| lot.push(kind.clone(), 0, now)));
        wanted.take(100).count()
    }

    #[test]
    fn a_program_gets_what_imported_most_of_what_it_wants_and_nothing_else() {
        let (mut lot, now) = (Lot::default(), Instant::now());
        for (who, modules) in [&["numpy"] as &[&str], &["numpy", "pandas"], &[], &["numpy"]].into_iter().enumerate() {
            let kind = kind("main.py", modules);
            lot.learn(&kind, Found::None, now);
            lot.learn_size(&kind, 1);
            lot.push(kind, who, now);
        }
        let mut take = |source, modules| lot.take(&kind(source, modules)).map(|(_, who)| who);
        assert_eq!(take("main.py", &["numpy", "scipy"]), Some(0), "the older of two");
        assert_eq!(take("main.py", &["numpy", "scipy"]), Some(3));
        assert_eq!(take("other.py", &["numpy"]), None);
        assert_eq!(take("main.py", &["scipy"]), Some(2), "one that imported nothing");
        assert_eq!(take("main.py", &["scipy"]), None);
    }

    #[test]
    fn demand_decides_how_many_wait() {
        let (mut lot, now) = (Lot::default(), Instant::now());
        let plain = kind("main.py", &[]);
        assert_eq!(fill(&mut lot, &plain, now), 0, "nobody has wanted one");
        lot.learn(&plain, Found::None, now);
        lot.learn_size(&plain, 10 << 20);
        assert_eq!(fill(&mut lot, &plain, now), FEW);
        lot.learn(&plain, Found::Ready, now);
        assert_eq!(fill(&mut lot, &plain, now), 0, "there are enough");
        for _ in 0..20 {
            lot.learn(&plain, Found::None, now);
        }
        assert_eq!(fill(&mut lot, &plain, now), MOST_ALIKE - FEW);
    }

    #[test]
    fn there_is_so_much_room() {
        let (mut lot, now) = (Lot::default(), Instant::now());
        let large = kind("main.py", &["pandas"]);
        lot.learn(&large, Found::None, now);
        assert_eq!(fill(&mut lot, &large, now), FEW, "of a size that nobody knows");
        lot.learn_size(&large, MEMORY + 1);
        lot.waiting.clear();
        assert_eq!(fill(&mut lot, &large, now), 0, "there is no room for one");
        lot.learn_size(&large, MEMORY / 2);
        assert_eq!(fill(&mut lot, &large, now), FEW);
        for number in 0..100 {
            let (small, now) = (kind(&format!("{number}.py"), &[]), now + Duration::from_secs(number));
            lot.learn(&small, Found::None, now);
            lot.learn_size(&small, 0);
            fill(&mut lot, &small, now);
            assert!(lot.waiting.len() <= MOST && lot.demand.len() <= MOST_KINDS && lot.size() <= MEMORY);
        }
        assert_eq!(lot.waiting.len(), MOST);
    }

    #[test]
    fn what_nobody_wants_is_given_up() {
        let (mut lot, start) = (Lot::default(), Instant::now());
        let (large, small) = (kind("main.py", &["pandas"]), kind("main.py", &[]));
        for (kind, size) in [(&large, 70 << 20), (&small, 10 << 20)] {
            lot.learn(kind, Found::None, start);
            lot.learn_size(kind, size);
            assert_eq!(fill(&mut lot, kind, start), FEW);
        }
        let mut left = |after: Duration| {
            lot.tidy(start + after);
            let of = |kind: &Kind| lot.waiting.iter().filter(|waiting| waiting.kind == *kind).count();
            (of(&large), of(&small))
        };
        assert_eq!(left(SHORT_PATIENCE), (FEW, FEW));
        assert_eq!(left(SHORT_PATIENCE * 2), (0, 1), "the large one does not fit into a server that does nothing");
        assert_eq!(left(PATIENCE), (0, 0));
    }
}
