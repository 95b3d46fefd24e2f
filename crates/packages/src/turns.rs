//! Whose turn it is to install.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};

use sandbox::Principal;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};

/// How many installations there are at one time: they wait for the network, and then compile on all processors. A
/// caller has at most one of them, and only when it is done does the caller's next one queue with the others': so
/// callers take turns, however much one asks for.
const AT_ONE_TIME: usize = 2;

/// Who waits for whom.
#[derive(Debug)]
pub(crate) struct Turns {
    places: Semaphore,
    callers: Lines<Principal>,
    /// By caller, too: whoever wants what another caller is getting takes a turn of their own, and waits with it for
    /// the lock of the wish. That other caller may still be far from its own turn.
    wishes: Lines<(Principal, String)>,
}

/// The right to install something. Given back when dropped.
#[derive(Debug)]
pub(crate) struct Turn<'a> {
    _place: Option<SemaphorePermit<'a>>,
    _caller: Option<OwnedSemaphorePermit>,
}

impl Default for Turns {
    fn default() -> Self {
        Self { places: Semaphore::new(AT_ONE_TIME), callers: Lines::default(), wishes: Lines::default() }
    }
}

impl Turns {
    /// Waits until nobody else gets this for the same caller.
    pub(crate) async fn alone_with(&self, caller: &Principal, key: &str) -> Option<OwnedSemaphorePermit> {
        self.wishes.first(&(caller.clone(), key.to_owned())).await
    }

    /// Waits for a turn.
    pub(crate) async fn take(&self, caller: &Principal) -> Turn<'_> {
        let caller = self.callers.first(caller).await;
        Turn { _place: self.places.acquire().await.ok(), _caller: caller }
    }
}

/// Lines, by key. One at a time can be the first in each.
#[derive(Debug)]
struct Lines<K>(Mutex<HashMap<K, Arc<Semaphore>>>);

impl<K> Default for Lines<K> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Clone + Eq + Hash> Lines<K> {
    async fn first(&self, key: &K) -> Option<OwnedSemaphorePermit> {
        let line = {
            let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            // Forgets lines in which nobody is any more.
            lines.retain(|_, line| Arc::strong_count(line) > 1);
            Arc::clone(lines.entry(key.clone()).or_insert_with(|| Arc::new(Semaphore::new(1))))
        };
        // Nobody closes it.
        line.acquire_owned().await.ok()
    }
}

#[cfg(test)]
mod tests {
    use tokio::task::JoinHandle;

    use super::*;

    async fn settle() {
        for _ in 0..50 {
            tokio::task::yield_now().await;
        }
    }

    /// Asks for a turn in the background, writes its name down when it has it, and gives it back.
    async fn ask(turns: &Arc<Turns>, name: &str, order: &Arc<Mutex<Vec<String>>>) -> JoinHandle<()> {
        let (turns, order, caller) = (Arc::clone(turns), Arc::clone(order), Principal::new(name));
        let asked = tokio::spawn(async move {
            let _turn = turns.take(&caller).await;
            order.lock().expect("a lock").push(caller.to_string());
        });
        settle().await;
        asked
    }

    #[tokio::test]
    async fn a_caller_leaves_a_place_to_others() {
        let (turns, order) = (Arc::new(Turns::default()), Arc::default());
        let held = turns.take(&Principal::new("ada")).await;
        let mut more = Vec::new();
        for _ in 0..20 {
            more.push(ask(&turns, "ada", &order).await);
        }
        ask(&turns, "grace", &order).await.await.expect("a place of her own");
        assert_eq!(*order.lock().expect("a lock"), ["grace"]);
        drop(held);
        for request in more {
            request.await.expect("a turn");
        }
        drop(turns.take(&Principal::new("alan")).await);
        assert_eq!(turns.callers.0.lock().expect("a lock").len(), 1, "lines are forgotten");
    }

    #[tokio::test]
    async fn callers_take_turns_however_much_they_ask_for() {
        let (turns, order) = (Arc::new(Turns::default()), Arc::default());
        let held = [turns.take(&Principal::new("kay")).await, turns.take(&Principal::new("tim")).await];
        let mut asked = Vec::new();
        for name in ["ada", "ada", "ada", "grace", "grace", "alan"] {
            asked.push(ask(&turns, name, &order).await);
        }
        let [one, _other] = held;
        drop(one);
        for request in asked {
            request.await.expect("a turn");
        }
        assert_eq!(*order.lock().expect("a lock"), ["ada", "grace", "alan", "ada", "grace", "ada"]);
    }

    #[tokio::test]
    async fn nobody_waits_for_another_callers_wish() {
        let turns = Turns::default();
        let (ada, grace) = (Principal::new("ada"), Principal::new("grace"));
        let _hers = turns.alone_with(&ada, "pandas").await;
        let both = [(&ada, true), (&grace, false)];
        for (caller, expected) in both {
            let mut asked = std::pin::pin!(turns.alone_with(caller, "pandas"));
            let waits = tokio::select! { biased; _ = &mut asked => false, () = settle() => true };
            assert_eq!(waits, expected, "{caller}");
        }
    }
}
