//! Runs that take long, as tasks of their callers.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rmcp::ErrorData;
use rmcp::task_manager::TaskManager;
use sandbox::Principal;

use crate::room;
use crate::tools::MOST_ECHO;

/// How long a task is kept: longer than any run takes, and time to fetch its result.
const TASK_KEPT: Duration = Duration::from_millis(TASK_KEPT_MS);
pub(crate) const TASK_KEPT_MS: u64 = 15 * 60_000;

/// rmcp's own, which has no `Debug` and does not know whose a task is.
pub(crate) struct Tasks {
    pub(crate) manager: TaskManager,
    owners: Mutex<HashMap<String, (Principal, Instant)>>,
}

impl Tasks {
    pub(crate) fn new() -> Self {
        Self { manager: TaskManager::new(), owners: Mutex::default() }
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
        owners.retain(|_, (_, since)| since.elapsed() < TASK_KEPT);
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
    use rmcp::task_manager::TaskOptions;

    use super::*;

    #[tokio::test]
    async fn a_task_is_its_owners() {
        let tasks = Tasks::new();
        let (ada, grace) = (Principal::new("ada"), Principal::new("grace"));
        let task = tasks.manager.spawn(TaskOptions::new(), |_| Box::pin(std::future::pending()));
        tasks.own(&task.task_id, ada.clone());
        assert!(tasks.of(&task.task_id, &ada).is_ok_and(|manager| manager.get_task(&task.task_id).is_ok()));
        assert!(tasks.of(&task.task_id, &grace).is_err());
        let forgotten = tasks.manager.spawn(TaskOptions::new(), |_| Box::pin(std::future::pending()));
        assert!(tasks.of(&forgotten.task_id, &ada).is_err(), "a task without an owner is nobody's");
    }
}
