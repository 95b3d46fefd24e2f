//! Sees that a call of `run_code` gets into the audit log, however it ends.

use std::sync::Arc;
use std::time::Duration;

use runtime::RunError;
use sandbox::{Limits, Outcome, Principal, Refusal, Request, Status};

use crate::audit::{Audit, Entry, Ran, Verdict, hash_of};
use crate::tools::RUN_CODE;

/// A call that has not ended.
#[derive(Debug)]
pub(crate) struct Witness {
    audit: Arc<Audit>,
    principal: Principal,
    code_sha256: String,
    limits: Option<Limits>,
    /// None once it is written down.
    verdict: Option<Verdict>,
}

impl Witness {
    /// Refuses what could not be written down.
    pub(crate) fn new(audit: &Arc<Audit>, request: &Request, limits: Option<Limits>) -> Result<Self, Refusal> {
        if !audit.is_writable() {
            let message = "this server must write down every run, and its audit log cannot be written";
            return Err(Refusal::new("server", message, "tell whoever runs the server"));
        }
        Ok(Self {
            audit: Arc::clone(audit),
            principal: request.principal.clone(),
            code_sha256: hash_of(&request.code),
            limits,
            // Nobody waits for a run that is dropped before its end.
            verdict: Some(Verdict::Cancelled),
        })
    }

    /// It came to an end.
    pub(crate) fn saw(mut self, ended: &Result<Outcome, RunError>) {
        self.verdict = Some(match ended {
            Ok(outcome) => Verdict::Ran(Box::new(self.ran(outcome))),
            Err(RunError::Refused(refusal)) => Verdict::Refused { reason: refusal.to_string() },
            Err(RunError::Failed(error)) => Verdict::Failed { reason: error.to_string() },
        });
    }

    fn ran(&self, outcome: &Outcome) -> Ran {
        let exit_code = match outcome.status {
            Status::Completed { exit_code } => Some(exit_code),
            Status::Crashed { .. } | Status::TimedOut | Status::LimitExceeded(_) | Status::Cancelled => None,
        };
        Ran {
            language: outcome.runtime.language.to_owned(),
            engine: outcome.engine.to_string(),
            isolation: outcome.isolation.level.to_string(),
            missing: outcome.isolation.missing.clone(),
            timeout_ms: self.limits.map_or(0, |limits| millis(limits.wall)),
            cpu_ms: self.limits.map_or(0, |limits| millis(limits.cpu)),
            memory_bytes: self.limits.map_or(0, |limits| limits.memory.get()),
            status: outcome.status.name().to_owned(),
            exit_code,
            used_wall_ms: millis(outcome.usage.wall),
            used_cpu_ms: millis(outcome.usage.cpu),
        }
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        if let Some(verdict) = self.verdict.take() {
            self.audit.record(Entry {
                principal: self.principal.to_string(),
                tool: RUN_CODE.to_owned(),
                code_sha256: std::mem::take(&mut self.code_sha256),
                verdict,
            });
        }
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
