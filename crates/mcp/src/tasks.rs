//! Runs that take long, as tasks of their callers.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rmcp::ErrorData;
use rmcp::task_manager::{TaskManager, TaskOptions};
use sandbox::Principal;

use crate::room;
use crate::tools::MOST_ECHO;

/// How long a task is kept beyond what its run may take: for waiting its turn and installing packages before it, and fetching its result after.
const BESIDE_ITS_RUN: Duration = Duration::from_mins(30);

/// rmcp's own, which has no `Debug` and does not know whose a task is.
pub(crate) struct Tasks {
    pub(crate) manager: TaskManager,
    /// How long each is kept: what is going on after that is ended.
    kept: Duration,
    owners: Mutex<HashMap<String, (Principal, Instant)>>,
}

impl Tasks {
    /// Of runs that take at most this long.
    pub(crate) fn new(longest_run: Duration) -> Self {
        let kept = longest_run.saturating_add(BESIDE_ITS_RUN);
        Self { manager: TaskManager::new(), kept, owners: Mutex::default() }
    }

    /// How a task begins.
    pub(crate) fn options(&self) -> TaskOptions {
        let kept = u64::try_from(self.kept.as_millis()).unwrap_or(u64::MAX);
        TaskOptions::new().with_status_message("running").with_ttl_ms(kept)
    }

    /// The task is this caller's from now on.
    pub(crate) fn own(&self, task: &str, owner: Principal) {
        self.owners().insert(task.to_owned(), (owner, Instant::now()));
    }

    /// How many tasks a caller has.
    pub(crate) fn count(&self, caller: &Principal) -> usize {
        self.owners().values().filter(|(owner, _)| owner == caller).count()
    }

    /// Without those that the manager has forgotten.
    fn owners(&self) -> MutexGuard<'_, HashMap<String, (Principal, Instant)>> {
        let mut owners = self.owners.lock().unwrap_or_else(PoisonError::into_inner);
        owners.retain(|_, (_, since)| since.elapsed() < self.kept);
        owners
    }

    /// The manager, for a task that is this caller's. Another's, or nobody's, is not there.
    pub(crate) fn of(&self, task: &str, caller: &Principal) -> Result<&TaskManager, ErrorData> {
        if self.owners().get(task).is_some_and(|(owner, _)| owner == caller) {
            Ok(&self.manager)
        } else {
            let task = room::shortened(task, MOST_ECHO);
            Err(ErrorData::invalid_params(format!("there is no task `{task}`"), None))
        }
    }
}

impl std::fmt::Debug for Tasks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tasks").field("running", &self.manager.running_task_count()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_task_is_its_owners() {
        let tasks = Tasks::new(Duration::from_mins(5));
        let (ada, grace) = (Principal::new("ada"), Principal::new("grace"));
        let task = tasks.manager.spawn(TaskOptions::new(), |_| Box::pin(std::future::pending()));
        tasks.own(&task.task_id, ada.clone());
        assert!(tasks.of(&task.task_id, &ada).is_ok_and(|manager| manager.get_task(&task.task_id).is_ok()));
        assert!(tasks.of(&task.task_id, &grace).is_err());
        let forgotten = tasks.manager.spawn(TaskOptions::new(), |_| Box::pin(std::future::pending()));
        assert!(tasks.of(&forgotten.task_id, &ada).is_err(), "a task without an owner is nobody's");
    }

    #[tokio::test]
    async fn a_task_is_kept_for_longer_than_its_run_takes() {
        let tasks = Tasks::new(Duration::from_hours(1));
        let task = tasks.manager.spawn(tasks.options(), |_| Box::pin(std::future::pending()));
        assert_eq!(task.ttl_ms, Some(90 * 60_000));
    }
}
