//! Tells a client, while its program runs, what is done for the program and which lines it prints.

#![expect(deprecated, reason = "clients of the older era ask for it")]

use rmcp::model::{LoggingLevel, LoggingMessageNotificationParam};
use runtime::RunError;
use sandbox::{Outcome, Request, Stream};
use tokio::sync::Notify;

use super::{refuses, without_end};
use crate::profiles::transcript::{News, Transcript};
use crate::profiles::{Call, why};
use crate::teller::{WARNING, level_number};

impl Call<'_> {
    /// Runs a program, and tells its client of each line that it prints.
    pub(super) async fn run_aloud(&self, request: Request, heard: &Transcript) -> Result<Outcome, RunError> {
        let over = Notify::new();
        let run = async {
            let ended = self.run(request, heard).await;
            over.notify_one();
            ended
        };
        // Beside the run, not in turns with it: a client that does not read delays nothing but its own answer.
        let tell = async {
            loop {
                tokio::select! {
                    biased;
                    () = heard.there_is_news(), if self.log_level <= WARNING => self.log_all(heard.take_news()).await,
                    () = over.notified() => break self.log_all(heard.take_last_news()).await,
                }
            }
        };
        let (ended, ()) = tokio::join!(run, tell);
        if let Err(error) = &ended
            && refuses(error, "packages")
        {
            self.log(LoggingLevel::Error, why(error)).await;
        }
        ended
    }

    async fn log_all(&self, news: Vec<News>) {
        for news in news {
            match news {
                News::Doing(text) => self.log(LoggingLevel::Debug, text).await,
                News::Line((Stream::Stdout, line)) => self.log(LoggingLevel::Info, without_end(line)).await,
                News::Line((Stream::Stderr, line)) => self.log(LoggingLevel::Warning, without_end(line)).await,
            }
        }
    }

    async fn log(&self, level: LoggingLevel, text: String) {
        if self.log_level <= level_number(level) {
            let message = LoggingMessageNotificationParam::new(level, self.fit(&text).into());
            // A client that is gone is noticed elsewhere.
            self.context.peer.notify_logging_message(message).await.ok();
        }
    }
}
