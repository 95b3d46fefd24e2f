//! Runs that take long, as tasks of their callers.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use rmcp::ErrorData;
use rmcp::model::{CallToolResult, Task};
use rmcp::task_manager::{TaskContext, TaskExit, TaskFuture, TaskManager, TaskOptions};
use sandbox::Principal;

use crate::room;
use crate::tools::MOST_ECHO;

/// How long a task is kept beyond what its run may take: for waiting its turn and installing packages before it, and fetching its result after.
const BESIDE_ITS_RUN: Duration = Duration::from_mins(30);
/// What the results of a caller's ended tasks may take together. The oldest go first; the last one stays, whatever it takes.
const MOST_BYTES: usize = 32 << 20;

pub(crate) struct Tasks {
    /// Of fixtures, whose tasks are everybody's.
    pub(crate) manager: TaskManager,
    /// How long each is kept: what is going on after that is ended.
    kept: Duration,
    owned: Arc<Mutex<HashMap<String, Owned>>>,
}

/// A caller's task, in a manager of its own: a manager of rmcp's keeps results, of any size, for as long again after
/// they are there, and cannot let go of one.
struct Owned {
    owner: Principal,
    since: Instant,
    manager: TaskManager,
    ended: Arc<OnceLock<Ended>>,
}

struct Ended {
    at: Instant,
    bytes: usize,
}

impl Drop for Owned {
    fn drop(&mut self) {
        self.manager.shutdown();
    }
}

impl Tasks {
    /// Of runs that take at most this long.
    pub(crate) fn new(longest_run: Duration) -> Self {
        let kept = longest_run.saturating_add(BESIDE_ITS_RUN);
        Self { manager: TaskManager::new(), kept, owned: Arc::default() }
    }

    /// Begins a task of this caller's.
    pub(crate) fn spawn(&self, caller: &Principal, work: impl FnOnce(TaskContext) -> TaskFuture) -> Task {
        let (manager, ended) = (TaskManager::new(), Arc::<OnceLock<Ended>>::default());
        let (tasks, owner, end) = (Arc::clone(&self.owned), caller.clone(), Arc::clone(&ended));
        let task = manager.spawn(self.options(), move |context| {
            let working = work(context);
            Box::pin(async move {
                let result = working.await;
                end.set(Ended { at: Instant::now(), bytes: size(&result) }).ok();
                make_room(&mut tasks.lock().unwrap_or_else(PoisonError::into_inner), &owner);
                result
            })
        });
        let mut all = self.owned();
        all.insert(task.task_id.clone(), Owned { owner: caller.clone(), since: Instant::now(), manager, ended });
        // It may have ended already, on another thread.
        make_room(&mut all, caller);
        task
    }

    fn options(&self) -> TaskOptions {
        let kept = u64::try_from(self.kept.as_millis()).unwrap_or(u64::MAX);
        TaskOptions::new().with_status_message("running").with_ttl_ms(kept)
    }

    /// How many tasks a caller has.
    pub(crate) fn count(&self, caller: &Principal) -> usize {
        self.owned().values().filter(|task| task.owner == *caller).count()
    }

    /// Without those whose time is over.
    fn owned(&self) -> MutexGuard<'_, HashMap<String, Owned>> {
        let mut owned = self.owned.lock().unwrap_or_else(PoisonError::into_inner);
        owned.retain(|_, task| task.since.elapsed() < self.kept);
        owned
    }

    /// The manager of a task that is this caller's. Another's, or nobody's, is not there.
    pub(crate) fn of(&self, task: &str, caller: &Principal) -> Result<TaskManager, ErrorData> {
        match self.owned().get(task) {
            Some(owned) if owned.owner == *caller => Ok(owned.manager.clone()),
            Some(_) | None => {
                let task = room::shortened(task, MOST_ECHO);
                Err(ErrorData::invalid_params(format!("there is no task `{task}`"), None))
            }
        }
    }
}

/// What a result takes. Errors are sentences.
fn size(result: &Result<CallToolResult, TaskExit>) -> usize {
    result.as_ref().ok().and_then(|result| serde_json::to_vec(result).ok()).map_or(0, |written| written.len())
}

/// Lets the oldest results go of a caller who has too much of them.
fn make_room(tasks: &mut HashMap<String, Owned>, caller: &Principal) {
    while let Some(oldest) = one_too_many(tasks, caller) {
        tasks.remove(&oldest);
    }
}

/// Of a caller whose results take more than they may, the first that ended, unless it is the last.
fn one_too_many(tasks: &HashMap<String, Owned>, caller: &Principal) -> Option<String> {
    let of_caller = tasks.iter().filter(|(_, task)| task.owner == *caller);
    let ended = || of_caller.clone().filter_map(|(name, task)| Some((name, task.ended.get()?)));
    let total: usize = ended().map(|(_, ended)| ended.bytes).sum();
    let (oldest, _) = ended().min_by_key(|(_, ended)| ended.at)?;
    (total > MOST_BYTES && ended().count() > 1).then(|| oldest.clone())
}

impl std::fmt::Debug for Tasks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tasks").field("owned", &self.owned().len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use rmcp::model::{ContentBlock, TaskStatus};

    use super::*;

    #[tokio::test]
    async fn a_task_is_its_owners() {
        let tasks = Tasks::new(Duration::from_mins(5));
        let (ada, grace) = (Principal::new("ada"), Principal::new("grace"));
        let task = tasks.spawn(&ada, |_| Box::pin(std::future::pending()));
        assert!(tasks.of(&task.task_id, &ada).is_ok_and(|manager| manager.get_task(&task.task_id).is_ok()));
        assert!(tasks.of(&task.task_id, &grace).is_err());
        assert_eq!((tasks.count(&ada), tasks.count(&grace)), (1, 0));
        let forgotten = tasks.manager.spawn(TaskOptions::new(), |_| Box::pin(std::future::pending()));
        assert!(tasks.of(&forgotten.task_id, &ada).is_err(), "a task without an owner is nobody's");
    }

    #[tokio::test]
    async fn a_task_is_kept_for_longer_than_its_run_takes() {
        let tasks = Tasks::new(Duration::from_hours(1));
        let task = tasks.spawn(&Principal::default(), |_| Box::pin(std::future::pending()));
        assert_eq!(task.ttl_ms, Some(90 * 60_000));
    }

    /// Until it has ended.
    async fn completed(tasks: &Tasks, owner: &Principal, bytes: usize) -> String {
        let result = CallToolResult::success(vec![ContentBlock::text("x".repeat(bytes))]);
        let task = tasks.spawn(owner, |_| Box::pin(async { Ok(result) })).task_id;
        loop {
            let manager = tasks.of(&task, owner).expect("the last one stays");
            if manager.get_task(&task).expect("a task").status() == TaskStatus::Completed {
                return task;
            }
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn results_take_so_much_and_the_oldest_go_first() {
        let tasks = Tasks::new(Duration::from_mins(5));
        let (ada, grace) = (Principal::new("ada"), Principal::new("grace"));
        let going = tasks.spawn(&ada, |_| Box::pin(std::future::pending())).task_id;
        let other = completed(&tasks, &grace, MOST_BYTES / 3).await;
        let mut hers = Vec::new();
        for _ in 0..5 {
            hers.push(completed(&tasks, &ada, MOST_BYTES / 3).await);
        }
        let is_there = |task: &String| tasks.of(task, &ada).is_ok();
        assert_eq!(hers.iter().map(is_there).collect::<Vec<_>>(), [false, false, false, true, true]);
        let large = completed(&tasks, &ada, MOST_BYTES * 2).await;
        assert!(is_there(&large) && !hers.iter().any(is_there));
        assert!(is_there(&going) && tasks.of(&other, &grace).is_ok(), "others stay");
    }

    #[tokio::test]
    async fn what_goes_on_ends_with_its_time() {
        let tasks = Tasks { kept: Duration::from_millis(50), ..Tasks::new(Duration::ZERO) };
        let (held, dropped) = tokio::sync::oneshot::channel::<()>();
        tasks.spawn(&Principal::default(), |_| {
            Box::pin(async move {
                let _held = held;
                std::future::pending().await
            })
        });
        tokio::time::sleep(Duration::from_millis(60)).await;
        assert_eq!(tasks.count(&Principal::default()), 0);
        assert!(dropped.await.is_err(), "it goes on");
    }
}
