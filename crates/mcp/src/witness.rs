//! Records what becomes of a call of `run_code`, however it ends: in the audit log, in the server's own log, in its
//! metrics, and in the caller's trace. None of them gets the code, its input or its output. Calls that change what runs
//! find, by installing packages or choosing a Python, are recorded in the same way.

use std::sync::Arc;
use std::time::Duration;

use opentelemetry::KeyValue;
use opentelemetry::global::{self, BoxedSpan, BoxedTracer};
use opentelemetry::propagation::Extractor;
use opentelemetry::trace::{Span as _, SpanKind, Status as SpanStatus, Tracer as _};
use rmcp::RoleServer;
use rmcp::service::RequestContext;
use runtime::RunError;
use sandbox::{Limits, Outcome, Plan, Principal, Refusal, Request, Status};

use crate::audit::{Audit, Entry, Ran, Verdict, hash_of};
use crate::metrics::Metrics;
use crate::runs;
use crate::tools::RUN_CODE;

/// Those who want to know.
#[derive(Debug)]
pub(crate) struct Observers {
    pub(crate) audit: Option<Audit>,
    pub(crate) metrics: Metrics,
    pub(crate) tracer: Option<Tracer>,
}

/// Continues callers' traces.
pub(crate) struct Tracer(BoxedTracer);

impl std::fmt::Debug for Tracer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tracer")
    }
}

impl Tracer {
    /// The one that was made the process's own.
    pub(crate) fn global() -> Self {
        Self(global::tracer("belljar"))
    }

    fn start(&self, tool: &'static str, context: &RequestContext<RoleServer>) -> BoxedSpan {
        let parent = global::get_text_map_propagator(|propagator| propagator.extract(&Carrier(context)));
        let span = self
            .0
            .span_builder(format!("tools/call {tool}"))
            .with_kind(SpanKind::Server)
            .with_attributes([KeyValue::new("mcp.method.name", "tools/call"), KeyValue::new("gen_ai.tool.name", tool)]);
        self.0.build_with_context(span, &parent)
    }
}

/// Where a request says which trace it belongs to: in its own metadata, or else in the headers that carried it.
struct Carrier<'a>(&'a RequestContext<RoleServer>);

impl Extractor for Carrier<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        let in_headers = || {
            let parts = self.0.extensions.get::<http::request::Parts>()?;
            parts.headers.get(key)?.to_str().ok()
        };
        self.0.meta.get(key).and_then(|value| value.as_str()).or_else(in_headers)
    }

    fn keys(&self) -> Vec<&str> {
        vec!["traceparent", "tracestate"]
    }
}

/// A call that has not ended.
#[derive(Debug)]
pub(crate) struct Witness {
    observers: Arc<Observers>,
    tool: &'static str,
    /// The name of the run, or of the call.
    run: String,
    principal: Principal,
    code_sha256: Option<String>,
    limits: Option<Limits>,
    span: Option<BoxedSpan>,
    /// Nobody waits for a call that is dropped before its end.
    verdict: Verdict,
}

impl Witness {
    pub(crate) fn new(observers: &Arc<Observers>, principal: Principal, context: &RequestContext<RoleServer>) -> Self {
        Self::of(RUN_CODE, observers, principal, context)
    }

    /// Of a call of another tool.
    pub(crate) fn of(
        tool: &'static str,
        observers: &Arc<Observers>,
        principal: Principal,
        context: &RequestContext<RoleServer>,
    ) -> Self {
        Self {
            observers: Arc::clone(observers),
            tool,
            run: runs::new_name(),
            principal,
            code_sha256: None,
            limits: None,
            span: observers.tracer.as_ref().map(|tracer| tracer.start(tool, context)),
            verdict: Verdict::Cancelled,
        }
    }

    /// The name of the run, in logs and in `run://` resources.
    pub(crate) fn run(&self) -> &str {
        &self.run
    }

    /// Notes what is asked for. Refuses if it could not be written down.
    pub(crate) fn reads(&mut self, request: &Request) -> Result<(), Refusal> {
        self.code_sha256 = self.observers.audit.is_some().then(|| hash_of(&request.code));
        self.can_write()
    }

    /// Whether it could be written down.
    pub(crate) fn can_write(&self) -> Result<(), Refusal> {
        if self.observers.audit.as_ref().is_none_or(Audit::is_writable) {
            return Ok(());
        }
        let message = "this server must write down every run, and its audit log cannot be written";
        Err(Refusal::new("server", message, "tell whoever runs the server"))
    }

    /// It will be run.
    pub(crate) fn admits(&mut self, plan: &Plan) {
        self.limits = Some(*plan.limits());
    }

    /// It will not be run. The argument that was wrong is named, but what it was is the caller's own.
    pub(crate) fn refuses(mut self, refusal: &Refusal) {
        self.verdict = Verdict::Refused { reason: refusal.argument().to_owned() };
    }

    /// It was done, or not; what there is now.
    pub(crate) fn did(mut self, done: Result<Vec<String>, &RunError>) {
        self.verdict = done.map_or_else(verdict_of, |what| Verdict::Done { what });
    }

    /// It came to an end.
    pub(crate) fn saw(mut self, ended: &Result<Outcome, RunError>) {
        self.verdict = match ended {
            Ok(outcome) => {
                self.observers.metrics.ran(outcome);
                Verdict::Ran(Box::new(self.ran(outcome)))
            }
            Err(error) => verdict_of(error),
        };
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
            granted: outcome.isolation.granted.clone(),
            timeout_ms: self.limits.map_or(0, |limits| millis(limits.wall)),
            cpu_ms: self.limits.map_or(0, |limits| millis(limits.cpu)),
            memory_bytes: self.limits.map_or(0, |limits| limits.memory.get()),
            status: outcome.status.name().to_owned(),
            exit_code,
            used_wall_ms: millis(outcome.usage.wall),
            used_cpu_ms: millis(outcome.usage.cpu),
        }
    }

    fn log(&self) {
        let (run, principal, verdict) = (self.run.as_str(), &self.principal, self.verdict.name());
        match &self.verdict {
            Verdict::Ran(ran) => tracing::info!(
                run,
                %principal,
                verdict,
                language = ran.language,
                engine = ran.engine,
                isolation = ran.isolation,
                status = ran.status,
                exit_code = ran.exit_code,
                wall_ms = ran.used_wall_ms,
                cpu_ms = ran.used_cpu_ms,
                "{}", self.tool
            ),
            // Why it was refused may say what the caller sent.
            Verdict::Done { .. } | Verdict::Refused { .. } | Verdict::Cancelled => {
                tracing::info!(run, %principal, verdict, "{}", self.tool);
            }
            Verdict::Failed { reason } => tracing::error!(run, %principal, verdict, reason, "{}", self.tool),
        }
    }

    fn end_span(&mut self) {
        let Some(mut span) = self.span.take() else { return };
        span.set_attribute(KeyValue::new("belljar.run", self.run.clone()));
        span.set_attribute(KeyValue::new("belljar.verdict", self.verdict.name()));
        match &self.verdict {
            Verdict::Ran(ran) => span.set_attributes([
                KeyValue::new("belljar.language", ran.language.clone()),
                KeyValue::new("belljar.engine", ran.engine.clone()),
                KeyValue::new("belljar.isolation", ran.isolation.clone()),
                KeyValue::new("belljar.status", ran.status.clone()),
            ]),
            Verdict::Done { .. } | Verdict::Refused { .. } | Verdict::Cancelled => {}
            Verdict::Failed { reason } => span.set_status(SpanStatus::error(reason.clone())),
        }
        span.end();
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        if self.tool == RUN_CODE {
            self.observers.metrics.count(&self.verdict);
        }
        self.log();
        self.end_span();
        if let Some(audit) = &self.observers.audit {
            audit.record(Entry {
                run: std::mem::take(&mut self.run),
                principal: self.principal.to_string(),
                tool: self.tool.to_owned(),
                code_sha256: self.code_sha256.take(),
                verdict: std::mem::replace(&mut self.verdict, Verdict::Cancelled),
            });
        }
    }
}

fn verdict_of(error: &RunError) -> Verdict {
    match error {
        RunError::Refused(refusal) => Verdict::Refused { reason: refusal.argument().to_owned() },
        RunError::Failed(error) => {
            let causes = std::iter::successors(Some(error as &dyn std::error::Error), |cause| cause.source());
            Verdict::Failed { reason: causes.map(ToString::to_string).collect::<Vec<_>>().join(": ") }
        }
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
