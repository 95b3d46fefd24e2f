//! What goes on, in numbers, for Prometheus. Nothing here names a caller or shows what it ran.

use std::fmt;

use http::StatusCode;
use prometheus_client::encoding::{EncodeLabelSet, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;
use runtime::Load;
use sandbox::Outcome;

use crate::audit::Verdict;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Run {
    language: &'static str,
    engine: String,
    status: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Engine {
    engine: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Call {
    verdict: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Answer {
    status: u16,
}

type Durations = Family<Engine, Histogram, fn() -> Histogram>;

/// Counts.
#[derive(Debug)]
pub(crate) struct Metrics {
    registry: Registry,
    calls: Family<Call, Counter>,
    runs: Family<Run, Counter>,
    promotions: Counter,
    durations: Durations,
    answers: Family<Answer, Counter>,
    running: Gauge,
    waiting: Gauge,
    sessions: Gauge,
}

impl Metrics {
    pub(crate) fn new() -> Self {
        // From half a millisecond to six minutes.
        let durations: Durations =
            Family::new_with_constructor(|| Histogram::new(exponential_buckets(0.0005, 2.6, 15)));
        let mut metrics = Self {
            registry: Registry::with_prefix("belljar"),
            calls: Family::default(),
            runs: Family::default(),
            promotions: Counter::default(),
            durations,
            answers: Family::default(),
            running: Gauge::default(),
            waiting: Gauge::default(),
            sessions: Gauge::default(),
        };
        let registry = &mut metrics.registry;
        registry.register("calls", "Calls of run_code that ended, by what became of them", metrics.calls.clone());
        registry.register("runs", "Runs that came to their end", metrics.runs.clone());
        registry.register("promotions", "Runs that moved from WebAssembly to native", metrics.promotions.clone());
        registry.register("run_seconds", "Wall-clock time of runs", metrics.durations.clone());
        registry.register("http_answers", "Answers over HTTP, by status", metrics.answers.clone());
        registry.register("running", "Runs that go on", metrics.running.clone());
        registry.register("waiting", "Calls that wait for their turn", metrics.waiting.clone());
        registry.register("sessions", "Sessions that are open", metrics.sessions.clone());
        metrics
    }

    /// A call of `run_code` ended.
    pub(crate) fn count(&self, verdict: &Verdict) {
        self.calls.get_or_create(&Call { verdict: verdict.name() }).inc();
    }

    /// A run came to its end.
    pub(crate) fn ran(&self, outcome: &Outcome) {
        let engine = outcome.engine.to_string();
        self.durations.get_or_create(&Engine { engine: engine.clone() }).observe(outcome.usage.wall.as_secs_f64());
        let run = Run { language: outcome.runtime.language, engine, status: outcome.status.name() };
        self.runs.get_or_create(&run).inc();
        if outcome.promoted.is_some() {
            self.promotions.inc();
        }
    }

    /// A request over HTTP was answered.
    pub(crate) fn answered(&self, status: StatusCode) {
        self.answers.get_or_create(&Answer { status: status.as_u16() }).inc();
    }

    /// All of it, in the text format.
    pub(crate) fn text(&self, load: Load, sessions: usize) -> Result<String, fmt::Error> {
        self.running.set(i64::try_from(load.running).unwrap_or(i64::MAX));
        self.waiting.set(i64::try_from(load.waiting).unwrap_or(i64::MAX));
        self.sessions.set(i64::try_from(sessions).unwrap_or(i64::MAX));
        let mut text = String::new();
        text::encode(&mut text, &self.registry)?;
        Ok(text)
    }
}
