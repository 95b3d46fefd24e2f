//! What a server says about itself: events on standard error, and traces where somebody collects them.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::time::Duration;

use anyhow::Context as _;
use opentelemetry::global;
use opentelemetry_http::{Bytes, HttpClient, HttpError};
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::arguments::{LogFormat, LogLevel};

/// How long the last traces may take when the server ends.
const LAST_TRACES: Duration = Duration::from_millis(100);

/// Writes events of this level, and of graver ones. Only belljar's own: what libraries say may have guests' words in it.
pub(crate) fn log(level: LogLevel, format: LogFormat) {
    let level = match level {
        LogLevel::Off => LevelFilter::OFF,
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
    };
    let ours = Targets::new().with_targets([("belljar", level), ("belljar_mcp", level)]);
    let layer = tracing_subscriber::fmt::layer().with_writer(io::stderr).with_ansi(false).with_target(false);
    let layer = match format {
        LogFormat::Text => layer.compact().boxed(),
        LogFormat::Json => layer.json().flatten_event(true).with_current_span(false).boxed(),
    };
    // There is one already only where somebody calls this twice.
    tracing_subscriber::registry().with(layer.with_filter(ours)).try_init().ok();
}

/// Sends traces until it is dropped.
#[derive(Debug)]
pub(crate) struct Traces(SdkTracerProvider);

impl Traces {
    /// `endpoint` is that of an OTLP collector, with or without the path for traces.
    pub(crate) fn start(endpoint: &str) -> anyhow::Result<Self> {
        const PATH: &str = "/v1/traces";
        let base = endpoint.trim_end_matches('/');
        let exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(Client(mcp::fetch::agent()))
            .with_protocol(Protocol::HttpBinary)
            .with_endpoint(if base.ends_with(PATH) { base.to_owned() } else { format!("{base}{PATH}") })
            .build()
            .with_context(|| format!("cannot send traces to `{endpoint}`"))?;
        let provider = SdkTracerProvider::builder()
            .with_batch_exporter(exporter)
            .with_resource(Resource::builder_empty().with_service_name("belljar").build())
            .build();
        global::set_tracer_provider(provider.clone());
        global::set_text_map_propagator(TraceContextPropagator::new());
        Ok(Self(provider))
    }
}

impl Drop for Traces {
    fn drop(&mut self) {
        if let Err(error) = self.0.shutdown_with_timeout(LAST_TRACES) {
            tracing::warn!(%error, "the last traces were not sent");
        }
    }
}

/// The exporter has a thread of its own, which may wait.
struct Client(ureq::Agent);

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Client")
    }
}

impl HttpClient for Client {
    fn send_bytes<'client, 'sending>(
        &'client self,
        request: http::Request<Bytes>,
    ) -> Pin<Box<dyn Future<Output = Result<http::Response<Bytes>, HttpError>> + Send + 'sending>>
    where
        'client: 'sending,
        Self: 'sending,
    {
        Box::pin(async move {
            let (parts, mut body) = self.0.run(request.map(|bytes| bytes.to_vec()))?.into_parts();
            Ok(http::Response::from_parts(parts, body.read_to_vec()?.into()))
        })
    }
}
