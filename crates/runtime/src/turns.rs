//! Whose turn it is: only so many runs go on at one time, and when more are wanted, turns rotate among callers, not
//! requests. A caller who asks for a thousand runs does not keep another from its first.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sandbox::Principal;
use tokio::sync::oneshot;

/// The turns of a runtime.
#[derive(Debug, Clone)]
pub(crate) struct Turns(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    free: usize,
    most_per_caller: usize,
    /// How many turns each caller has. Callers without any are not listed.
    taken: HashMap<Principal, usize>,
    /// Callers who wait, next one first, each with its requests in order.
    waiting: VecDeque<(Principal, VecDeque<oneshot::Sender<Turn>>)>,
}

/// The right to run. Given back when dropped.
#[derive(Debug)]
pub(crate) struct Turn {
    turns: Turns,
    caller: Principal,
}

/// How busy a runtime is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Load {
    /// Runs in progress.
    pub running: usize,
    /// Requests waiting for their turn.
    pub waiting: usize,
}

impl Turns {
    pub(crate) fn new(turns: usize) -> Self {
        let state = State { free: turns, most_per_caller: turns, taken: HashMap::new(), waiting: VecDeque::new() };
        Self(Arc::new(Mutex::new(state)))
    }

    /// Lets no caller have more than this many turns at one time.
    pub(crate) fn limit_callers(&self, most: usize) {
        self.lock().most_per_caller = most.max(1);
    }

    pub(crate) fn load(&self) -> Load {
        let state = self.lock();
        let still_wait = |request: &&oneshot::Sender<Turn>| !request.is_closed();
        let waiting = state.waiting.iter().map(|(_, requests)| requests.iter().filter(still_wait).count()).sum();
        Load { running: state.taken.values().sum(), waiting }
    }

    /// A turn, if one is free and nobody waits for it.
    pub(crate) fn try_take(&self, caller: &Principal) -> Option<Turn> {
        let mut state = self.lock();
        // Anyone who waits while turns are free already has all that it may have.
        state.take(caller).then(|| Turn { turns: self.clone(), caller: caller.clone() })
    }

    /// Waits for a turn.
    pub(crate) async fn take(&self, caller: &Principal) -> Turn {
        loop {
            let turn = {
                let mut state = self.lock();
                if state.take(caller) {
                    return Turn { turns: self.clone(), caller: caller.clone() };
                }
                state.wait(caller)
            };
            // A sender stays until it has given a turn, or nobody waits for it.
            if let Ok(turn) = turn.await {
                return turn;
            }
        }
    }

    /// Takes a turn back and hands free ones to those who wait.
    fn give_back(&self, caller: &Principal) {
        let mut next = {
            let mut state = self.lock();
            state.give_back(caller);
            state.next()
        };
        while let Some((caller, request)) = next {
            // If nobody listens any more, this drops the turn, which comes back and goes to the next.
            drop(request.send(Turn { turns: self.clone(), caller }));
            next = self.lock().next();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn may_take(&self, caller: &Principal) -> bool {
        self.free > 0 && self.taken.get(caller).is_none_or(|taken| *taken < self.most_per_caller)
    }

    fn take(&mut self, caller: &Principal) -> bool {
        let may = self.may_take(caller);
        if may {
            self.free -= 1;
            match self.taken.get_mut(caller) {
                Some(taken) => *taken += 1,
                None => drop(self.taken.insert(caller.clone(), 1)),
            }
        }
        may
    }

    fn wait(&mut self, caller: &Principal) -> oneshot::Receiver<Turn> {
        // Callers who come and go while no run ends must not make the line longer.
        self.forget_gone();
        let (request, turn) = oneshot::channel();
        match self.waiting.iter_mut().find(|(waiting, _)| waiting == caller) {
            Some((_, requests)) => requests.push_back(request),
            None => self.waiting.push_back((caller.clone(), VecDeque::from([request]))),
        }
        turn
    }

    /// Removes those from the line who no longer wait.
    fn forget_gone(&mut self) {
        for (_, requests) in &mut self.waiting {
            requests.retain(|request| !request.is_closed());
        }
        self.waiting.retain(|(_, requests)| !requests.is_empty());
    }

    /// Takes a turn for the next request that may have one, and moves its caller to the end of the line.
    fn next(&mut self) -> Option<(Principal, oneshot::Sender<Turn>)> {
        self.forget_gone();
        let place = (0..self.waiting.len())
            .find(|place| self.waiting.get(*place).is_some_and(|(caller, _)| self.may_take(caller)))?;
        let (caller, mut requests) = self.waiting.remove(place)?;
        let request = requests.pop_front()?;
        if !requests.is_empty() {
            self.waiting.push_back((caller.clone(), requests));
        }
        self.take(&caller);
        Some((caller, request))
    }

    fn give_back(&mut self, caller: &Principal) {
        self.free += 1;
        match self.taken.get_mut(caller) {
            Some(taken) if *taken > 1 => *taken -= 1,
            Some(_) | None => drop(self.taken.remove(caller)),
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.turns.give_back(&self.caller);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn settle() {
        for _ in 0..20 {
            tokio::task::yield_now().await;
        }
    }

    /// Asks for a turn in the background, records its name when it gets it, and gives it back.
    fn ask(turns: &Turns, name: &str, order: &Arc<Mutex<Vec<String>>>) -> tokio::task::JoinHandle<()> {
        let (turns, order, caller) = (turns.clone(), Arc::clone(order), Principal::new(name));
        tokio::spawn(async move {
            let _turn = turns.take(&caller).await;
            order.lock().expect("a lock").push(caller.to_string());
        })
    }

    #[tokio::test]
    async fn callers_take_turns_however_much_they_ask_for() {
        let turns = Turns::new(1);
        let first = turns.take(&Principal::new("ada")).await;
        let order = Arc::default();
        let mut asked = Vec::new();
        for name in ["ada", "ada", "ada", "grace", "grace", "alan"] {
            asked.push(ask(&turns, name, &order));
            settle().await;
        }
        assert_eq!(turns.load(), Load { running: 1, waiting: 6 });
        drop(first);
        for request in asked {
            request.await.expect("a turn");
        }
        assert_eq!(*order.lock().expect("a lock"), ["ada", "grace", "alan", "ada", "grace", "ada"]);
        assert_eq!(turns.load(), Load { running: 0, waiting: 0 });
    }

    #[tokio::test]
    async fn nobody_has_more_than_its_share_and_the_rest_is_others() {
        let turns = Turns::new(3);
        turns.limit_callers(2);
        let (ada, grace) = (Principal::new("ada"), Principal::new("grace"));
        let held = [turns.take(&ada).await, turns.take(&ada).await];
        assert!(turns.try_take(&ada).is_none());
        let order = Arc::default();
        let third = ask(&turns, "ada", &order);
        settle().await;
        assert!(turns.try_take(&grace).is_some());
        assert!(!third.is_finished());
        drop(held);
        third.await.expect("a turn");
        assert_eq!(turns.load(), Load { running: 0, waiting: 0 });
    }

    #[tokio::test]
    async fn who_does_not_wait_any_more_holds_nobody_up() {
        let turns = Turns::new(1);
        let first = turns.take(&Principal::new("ada")).await;
        let order = Arc::default();
        let gone: Vec<_> = (0..100).map(|_| ask(&turns, "ada", &order)).collect();
        settle().await;
        for request in &gone {
            request.abort();
        }
        let next = ask(&turns, "grace", &order);
        settle().await;
        drop(first);
        next.await.expect("a turn");
        assert_eq!(turns.load(), Load { running: 0, waiting: 0 });
        assert_eq!(*order.lock().expect("a lock"), ["grace"]);
    }

    /// While no run ends, nobody is called up; those who come and go must not stay in line for ever.
    #[tokio::test]
    async fn who_comes_and_goes_makes_no_line() {
        let turns = Turns::new(1);
        let first = turns.take(&Principal::new("ada")).await;
        let order = Arc::default();
        for number in 0..1_000 {
            let gone = ask(&turns, &format!("caller {}", number % 10), &order);
            settle().await;
            gone.abort();
            settle().await;
            assert_eq!(turns.load(), Load { running: 1, waiting: 0 });
        }
        let next = ask(&turns, "grace", &order);
        settle().await;
        assert_eq!(turns.load(), Load { running: 1, waiting: 1 });
        assert_eq!(turns.lock().waiting.iter().map(|(_, requests)| requests.len()).sum::<usize>(), 1);
        drop(first);
        next.await.expect("a turn");
    }
}
