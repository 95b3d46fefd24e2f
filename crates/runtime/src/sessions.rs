//! Sessions: who has which, whose turn it is in each, and when it ends.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use sandbox::{EngineId, Layer, LayerKind, Principal, Refusal, Session, SessionName, Wanted};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use crate::draft::{Draft, Drafted};

/// The limits of sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionLimits {
    /// The most that one caller may have.
    pub most: usize,
    /// How long one may be idle.
    pub idle: Duration,
}

/// Unless the operator says otherwise.
const MOST: usize = 64;
const IDLE: Duration = Duration::from_mins(30);

impl Default for SessionLimits {
    fn default() -> Self {
        Self { most: MOST, idle: IDLE }
    }
}

/// All sessions of a runtime.
#[derive(Debug)]
pub(crate) struct Sessions {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    limits: SessionLimits,
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    by_name: HashMap<(Principal, SessionName), Arc<Slot>>,
    /// What callers keep in sessions without an engine. Closed ones count too, until whoever is using them lets go.
    drafted: HashMap<Principal, Weak<Drafted>>,
    sweeper: Sweeper,
}

/// Whether a task is looking for sessions that have been idle too long.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Sweeper {
    #[default]
    None,
    Goes,
}

/// What to do about a session that already exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Present {
    Taken,
    Refused,
}

/// One session's place.
#[derive(Debug)]
struct Slot {
    name: SessionName,
    owner: Principal,
    /// Calls take turns, in the order in which they arrived.
    turn: Arc<Semaphore>,
    closed: watch::Sender<bool>,
    /// What its owner keeps in sessions without an engine.
    drafted: Arc<Drafted>,
    /// The sessions that it is one of.
    sessions: Weak<Shared>,
    resting: Mutex<Resting>,
}

/// What is known of a session while nobody is using it.
#[derive(Debug)]
struct Resting {
    /// `None` while someone is.
    held: Option<Held>,
    last_use: Instant,
    about: About,
}

/// What can be said about a session without waiting for it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct About {
    engine: Option<EngineId>,
    languages: Vec<&'static str>,
}

/// A session, or what becomes one with its first run.
#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) stage: Stage,
    /// What its cells wanted besides their language.
    pub(crate) furnished: HashMap<LayerKind, Furnished>,
    pub(crate) past: Past,
}

/// Whether there was a session before this one that its caller still counts on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Past {
    None,
    /// It ended with its process, and the caller was not told yet.
    Lost,
}

/// Packages of a session: what all of its cells together want, and where that is.
#[derive(Debug, Clone)]
pub(crate) struct Furnished {
    pub(crate) wanted: Wanted,
    /// Which engine the layer is for: it is of no use to another.
    pub(crate) engine: EngineId,
    pub(crate) layer: Option<Layer>,
}

#[derive(Debug)]
pub(crate) enum Stage {
    /// Files for a session whose engine is not chosen yet.
    Draft(Draft),
    Live(Live),
}

/// A session that lives in an engine.
#[derive(Debug)]
pub(crate) struct Live {
    pub(crate) engine: EngineId,
    pub(crate) session: Box<dyn Session>,
}

/// A session, as its caller sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionInfo {
    /// What its caller calls it.
    pub name: SessionName,
    /// The engine that it runs on, once there is one.
    pub engine: Option<EngineId>,
    /// Languages with a live interpreter.
    pub languages: Vec<&'static str>,
    /// How long it has been idle; `None` while it runs something.
    pub idle: Option<Duration>,
    /// How long it stays if nothing happens.
    pub expires_in: Duration,
}

impl Sessions {
    pub(crate) fn new(limits: SessionLimits) -> Self {
        Self { shared: Arc::new(Shared { limits, table: Mutex::default() }) }
    }

    /// Waits for a turn in a session, which is created if it does not exist.
    pub(crate) async fn enter(&self, owner: &Principal, name: &SessionName) -> Result<Seat, Refusal> {
        loop {
            let slot = self.slot(owner, name, Present::Taken)?;
            if let Some(seat) = Seat::take(slot).await {
                return Ok(seat);
            }
            // It was closed while we waited for it: whoever asked for it wants a new one.
        }
    }

    /// Waits for a turn in an existing session.
    pub(crate) async fn find(&self, owner: &Principal, name: &SessionName) -> Result<Seat, Refusal> {
        let slot = self.shared.lock().by_name.get(&(owner.clone(), name.clone())).cloned();
        match slot {
            Some(slot) => Seat::take(slot).await.ok_or_else(|| not_found(name)),
            None => Err(not_found(name)),
        }
    }

    /// A place for a session that is made from another one.
    pub(crate) async fn make(&self, owner: &Principal, name: &SessionName) -> Result<Seat, Refusal> {
        // Nobody else is using it yet, unless it was closed at once.
        Seat::take(self.slot(owner, name, Present::Refused)?).await.ok_or_else(|| not_found(name))
    }

    /// Ends a session, even a busy one.
    pub(crate) fn close(&self, owner: &Principal, name: &SessionName) -> Result<(), Refusal> {
        let slot = self.shared.lock().by_name.remove(&(owner.clone(), name.clone()));
        slot.ok_or_else(|| not_found(name))?.close();
        Ok(())
    }

    /// A caller's sessions, by name.
    pub(crate) fn list(&self, owner: &Principal) -> Vec<SessionInfo> {
        let slots: Vec<Arc<Slot>> =
            self.shared.lock().by_name.values().filter(|slot| slot.owner == *owner).cloned().collect();
        let mut sessions: Vec<SessionInfo> = slots.iter().map(|slot| slot.info(self.shared.limits.idle)).collect();
        sessions.sort_by(|one, other| one.name.cmp(&other.name));
        sessions
    }

    /// How many there are, of all callers.
    pub(crate) fn count(&self) -> usize {
        self.shared.lock().by_name.len()
    }

    fn slot(&self, owner: &Principal, name: &SessionName, present: Present) -> Result<Arc<Slot>, Refusal> {
        let mut table = self.shared.lock();
        match table.by_name.get(&(owner.clone(), name.clone())) {
            Some(slot) if present == Present::Taken => return Ok(Arc::clone(slot)),
            Some(_) => {
                let message = format!("there is a session `{name}` already");
                return Err(Refusal::new("as", message, "choose another name, or close that one with `close_session`"));
            }
            None => {}
        }
        let most = self.shared.limits.most;
        if table.by_name.keys().filter(|(theirs, _)| theirs == owner).count() >= most {
            let message = format!("there are {most} sessions already, and `{name}` would be one more");
            return Err(Refusal::new("session", message, "close one with `close_session`; `list_sessions` names them"));
        }
        let drafted = table.drafted_by(owner);
        let slot = Arc::new(Slot::new((owner, name), drafted, &self.shared));
        if table.sweeper == Sweeper::None {
            table.sweeper = Sweeper::Goes;
            tokio::spawn(sweep(Arc::downgrade(&self.shared)));
        }
        table.by_name.insert((owner.clone(), name.clone()), Arc::clone(&slot));
        Ok(slot)
    }
}

/// The same answer for a session that never existed, one that has ended, and another caller's.
fn not_found(name: &SessionName) -> Refusal {
    Refusal::new(
        "session",
        format!("there is no session `{name}`"),
        "`list_sessions` names those that there are; `run_code` and `write_file` open one",
    )
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    fn drafted_by(&mut self, owner: &Principal) -> Arc<Drafted> {
        if let Some(drafted) = self.drafted.get(owner).and_then(Weak::upgrade) {
            return drafted;
        }
        self.drafted.retain(|_, drafted| drafted.strong_count() > 0);
        let drafted = Arc::default();
        self.drafted.insert(owner.clone(), Arc::downgrade(&drafted));
        drafted
    }
}

/// Ends sessions that have been idle too long, for as long as there are any.
async fn sweep(shared: Weak<Shared>) {
    loop {
        let Some(pause) = shared.upgrade().map(|shared| shared.limits.idle / 20) else { return };
        tokio::time::sleep(pause.clamp(Duration::from_millis(100), Duration::from_mins(1))).await;
        let Some(shared) = shared.upgrade() else { return };
        let mut table = shared.lock();
        let is_stale = |slot: &Slot| slot.is_stale(shared.limits.idle);
        let stale: Vec<(Principal, SessionName)> =
            table.by_name.iter().filter(|(_, slot)| is_stale(slot)).map(|(key, _)| key.clone()).collect();
        for key in stale {
            if let Some(slot) = table.by_name.remove(&key) {
                slot.close();
            }
        }
        if table.by_name.is_empty() {
            table.sweeper = Sweeper::None;
            return;
        }
    }
}

impl Slot {
    fn new((owner, name): (&Principal, &SessionName), drafted: Arc<Drafted>, sessions: &Arc<Shared>) -> Self {
        let now = Instant::now();
        let held = Held { stage: Stage::Draft(Draft::new(&drafted)), furnished: HashMap::new(), past: Past::None };
        Self {
            name: name.clone(),
            owner: owner.clone(),
            turn: Arc::new(Semaphore::new(1)),
            closed: watch::Sender::new(false),
            drafted,
            sessions: Arc::downgrade(sessions),
            resting: Mutex::new(Resting { held: Some(held), last_use: now, about: About::default() }),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Resting> {
        self.resting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Drops what is in it: now, or once whoever is using it hears of this.
    fn close(&self) {
        self.closed.send_replace(true);
        self.turn.close();
        drop(self.lock().held.take());
    }

    fn is_stale(&self, idle: Duration) -> bool {
        let resting = self.lock();
        resting.held.is_some() && resting.last_use.elapsed() >= idle
    }

    fn info(&self, idle: Duration) -> SessionInfo {
        let resting = self.lock();
        let is_idle = resting.held.is_some().then(|| resting.last_use.elapsed());
        SessionInfo {
            name: self.name.clone(),
            engine: resting.about.engine,
            languages: resting.about.languages.clone(),
            idle: is_idle,
            expires_in: idle.saturating_sub(is_idle.unwrap_or_default()),
        }
    }

    /// Frees the name, if it still belongs to this session.
    fn forget(&self) {
        let Some(sessions) = self.sessions.upgrade() else { return };
        let key = (self.owner.clone(), self.name.clone());
        let mut table = sessions.lock();
        if table.by_name.get(&key).is_some_and(|slot| std::ptr::eq(Arc::as_ptr(slot), self)) {
            table.by_name.remove(&key);
        }
        drop(table);
        self.close();
    }

    /// Whoever was using it is done. With nothing in it, it is not a session.
    fn give_back(&self, held: Option<Held>) {
        let is_empty = match &held {
            Some(Held { stage: Stage::Draft(draft), furnished, past }) => {
                draft.is_empty() && furnished.is_empty() && *past == Past::None
            }
            Some(Held { stage: Stage::Live(_), .. }) => false,
            None => true,
        };
        if is_empty {
            return self.forget();
        }
        let mut resting = self.lock();
        resting.last_use = Instant::now();
        if let Some(Held { stage: Stage::Live(live), .. }) = &held {
            resting.about = About { engine: Some(live.engine), languages: live.session.languages() };
        }
        // If it has been closed meanwhile, it is dropped.
        resting.held = held.filter(|_| !*self.closed.borrow());
    }
}

/// A turn in a session: nobody else uses it until this is dropped.
#[derive(Debug)]
pub(crate) struct Seat {
    slot: Arc<Slot>,
    permit: Option<OwnedSemaphorePermit>,
    held: Option<Held>,
    /// Whether something was started that has not finished.
    busy: Busy,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Busy {
    No,
    Yes,
}

impl Seat {
    async fn take(slot: Arc<Slot>) -> Option<Self> {
        let permit = Arc::clone(&slot.turn).acquire_owned().await.ok()?;
        let held = slot.lock().held.take()?;
        Some(Self { slot, permit: Some(permit), held: Some(held), busy: Busy::No })
    }

    pub(crate) fn name(&self) -> &SessionName {
        &self.slot.name
    }

    /// Completes when someone closes the session.
    pub(crate) fn closed(&self) -> impl Future<Output = ()> + use<> {
        let mut closed = self.slot.closed.subscribe();
        async move {
            // The slot has the sender.
            closed.wait_for(|closed| *closed).await.ok();
        }
    }

    /// What is in it. An error once it has been given up.
    pub(crate) fn held(&mut self) -> Result<&mut Held, Refusal> {
        let name = &self.slot.name;
        self.held.as_mut().ok_or_else(|| not_found(name))
    }

    /// Starts it afresh, after its process ended.
    pub(crate) fn clear(&mut self) -> Result<(), Refusal> {
        let draft = Draft::new(&self.slot.drafted);
        *self.held()? = Held { stage: Stage::Draft(draft), furnished: HashMap::new(), past: Past::Lost };
        Ok(())
    }

    /// Something is being started: if this is dropped before [`Seat::is_done`], that is ended.
    pub(crate) fn is_busy(&mut self) {
        self.busy = Busy::Yes;
    }

    pub(crate) fn is_done(&mut self) {
        self.busy = Busy::No;
    }

    /// The session is of no use any more: frees the name.
    pub(crate) fn give_up(&mut self) {
        self.held = None;
        self.busy = Busy::No;
        self.slot.forget();
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let (slot, permit, held) = (Arc::clone(&self.slot), self.permit.take(), self.held.take());
        match held {
            Some(Held { stage: Stage::Live(mut live), furnished, past }) if self.busy == Busy::Yes => {
                tokio::spawn(async move {
                    live.session.settle().await;
                    slot.give_back(Some(Held { stage: Stage::Live(live), furnished, past }));
                    drop(permit);
                });
            }
            held => {
                slot.give_back(held);
                drop(permit);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use sandbox::{Bytes, WorkspacePath, WriteMode};

    use super::*;

    fn path(text: &str) -> WorkspacePath {
        WorkspacePath::new(text).expect("a path")
    }

    #[tokio::test]
    async fn calls_take_turns_and_names_are_their_callers() {
        let sessions = Sessions::new(SessionLimits { most: 2, idle: Duration::from_mins(1) });
        let (ada, grace) = (Principal::new("ada"), Principal::new("grace"));
        let name = SessionName::new("work").expect("a name");
        let mut seat = sessions.enter(&ada, &name).await.expect("a turn");
        fill(&mut seat);
        assert!(sessions.find(&grace, &name).await.is_err());
        let waits = tokio::time::timeout(Duration::from_millis(20), sessions.enter(&ada, &name)).await;
        assert!(waits.is_err(), "one at a time");
        assert_eq!(sessions.list(&ada).first().map(|session| session.idle), Some(None));
        drop(seat);
        let seat = sessions.find(&ada, &name).await.expect("free again");
        sessions.close(&ada, &name).expect("there is one");
        seat.closed().await;
        drop(seat);
        assert!(sessions.list(&ada).is_empty());
        assert!(sessions.close(&ada, &name).is_err());
        for number in 0..2 {
            let name = SessionName::new(&format!("s{number}")).expect("a name");
            fill(&mut sessions.enter(&ada, &name).await.expect("room"));
        }
        let refusal = sessions.enter(&ada, &name).await.expect_err("one too many");
        assert!(refusal.message().contains("2 sessions"), "{refusal}");
        sessions.enter(&grace, &name).await.expect("hers are her own");
        assert!(sessions.list(&grace).is_empty(), "nothing is in it");
    }

    fn fill(seat: &mut Seat) {
        let Stage::Draft(draft) = &mut seat.held().expect("held").stage else { return };
        draft.write(&path("a"), b"1", WriteMode::Replace, (Bytes::new(10), 2)).expect("room");
    }

    #[tokio::test]
    async fn a_closed_session_counts_while_somebody_is_at_it() {
        let sessions = Sessions::new(SessionLimits::default());
        let (ada, name) = (Principal::new("ada"), SessionName::new("work").expect("a name"));
        let mut seat = sessions.enter(&ada, &name).await.expect("a turn");
        fill(&mut seat);
        sessions.close(&ada, &name).expect("there is one");
        let mut another = sessions.enter(&ada, &name).await.expect("a turn");
        let mut write = |contents: &[u8]| {
            let Stage::Draft(draft) = &mut another.held().expect("held").stage else { panic!("nothing has run") };
            draft.write(&path("b"), contents, WriteMode::Replace, (Bytes::new(10), 2))
        };
        write(&[0; 10]).expect_err("one byte is the other's");
        drop(seat);
        write(&[0; 10]).expect("all of it");
    }

    #[tokio::test]
    async fn who_does_nothing_goes() {
        let sessions = Sessions::new(SessionLimits { most: 2, idle: Duration::from_millis(150) });
        let (ada, name) = (Principal::new("ada"), SessionName::new("work").expect("a name"));
        let mut seat = sessions.enter(&ada, &name).await.expect("a turn");
        fill(&mut seat);
        tokio::time::sleep(Duration::from_millis(400)).await;
        assert_eq!(sessions.count(), 1, "not while somebody is at it");
        drop(seat);
        let end = Instant::now() + Duration::from_secs(20);
        while sessions.count() != 0 {
            assert!(Instant::now() < end, "it stays");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}
