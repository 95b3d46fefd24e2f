//! News of a run for the client that waits for it.

use std::convert::Infallible;
use std::time::Duration;

use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::RequestContext;
use rmcp::{Peer, RoleServer};

use crate::live::Live;

/// Output is told at most this often,
const TELL_EVERY: Duration = Duration::from_millis(100);
/// and something at least this often, or clients think that nobody is there.
const SIGN_OF_LIFE: Duration = Duration::from_secs(5);

/// The least level of log messages that a client asked for, by [`level_number`], before it does.
pub(crate) const NO_LOGS: u8 = u8::MAX;

/// Tells a client that waits what its run prints.
pub(crate) struct Teller {
    peer: Peer<RoleServer>,
    token: Option<ProgressToken>,
    logs: bool,
    told: f64,
    since: tokio::time::Instant,
    last: tokio::time::Instant,
}

impl Teller {
    pub(crate) fn new(context: &RequestContext<RoleServer>, log_level: u8) -> Self {
        let now = tokio::time::Instant::now();
        Self {
            peer: context.peer.clone(),
            token: context.meta.get_progress_token(),
            // Clients of the newer era say it with each request.
            logs: context.meta.log_level().map_or(log_level, level_number) <= INFO,
            told: 0.0,
            since: now,
            last: now,
        }
    }

    /// Until there is something to say.
    async fn next(&self, live: &Live) {
        if self.token.is_none() && !self.logs {
            return std::future::pending().await;
        }
        tokio::select! {
            () = live.news() => tokio::time::sleep_until(self.last + TELL_EVERY).await,
            () = tokio::time::sleep_until(self.last + SIGN_OF_LIFE) => {}
        }
    }

    /// Tells all that is new, for as long as this is polled.
    pub(crate) async fn tell_on(&mut self, live: Live) -> Infallible {
        loop {
            self.next(&live).await;
            self.tell(&live).await;
        }
    }

    /// Tells what is left when a run has ended, so that whoever listens has heard the end of its output before the result comes.
    pub(crate) async fn tell_rest(&mut self, live: &Live) {
        if (self.token.is_some() || self.logs) && live.has_news() {
            self.tell(live).await;
        }
    }

    async fn tell(&mut self, live: &Live) {
        self.last = tokio::time::Instant::now();
        self.told += 1.0;
        let news = live.take_news();
        if self.logs && !news.is_empty() {
            self.log(&news).await;
        }
        if let Some(token) = self.token.clone() {
            let message = if news.is_empty() { format!("running, {} s", self.since.elapsed().as_secs()) } else { news };
            let progress = ProgressNotificationParam::new(token, self.told).with_message(message);
            // A client that is gone is noticed elsewhere.
            self.peer.notify_progress(progress).await.ok();
        }
    }

    #[expect(deprecated, reason = "clients of the older era ask for it")]
    async fn log(&self, news: &str) {
        use rmcp::model::{LoggingLevel, LoggingMessageNotificationParam};

        let message = LoggingMessageNotificationParam::new(LoggingLevel::Info, news.into()).with_logger("run_code");
        self.peer.notify_logging_message(message).await.ok();
    }
}

pub(crate) const INFO: u8 = 1;
pub(crate) const WARNING: u8 = 3;

#[expect(deprecated, reason = "clients of the older era ask for it")]
pub(crate) fn level_number(level: rmcp::model::LoggingLevel) -> u8 {
    use rmcp::model::LoggingLevel;

    match level {
        LoggingLevel::Debug => 0,
        LoggingLevel::Info => INFO,
        LoggingLevel::Notice => 2,
        LoggingLevel::Warning => WARNING,
        LoggingLevel::Error => 4,
        LoggingLevel::Critical => 5,
        LoggingLevel::Alert => 6,
        LoggingLevel::Emergency => 7,
    }
}
