//! How much each caller may ask for. Whoever asks for more gets a 429 that says when to come back.

use std::borrow::Cow;
use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use governor::clock::{Clock as _, DefaultClock};
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};
use http::{HeaderMap, Method, StatusCode, header};
use http_body_util::BodyExt as _;
use sandbox::Principal;
use serde::Deserialize;

use super::{MAX_BODY, refuse};

/// How long a request's body may take. One that comes slowly on purpose holds nothing but its own connection until then.
const BODY_TIME: Duration = Duration::from_mins(1);
/// What a caller's requests may take in memory together.
const MOST_BYTES: usize = 2 * MAX_BODY;
/// Streams that a caller may listen on at one time.
const MOST_STREAMS: u32 = 64;
/// How many requests a caller may have that are not calls, or not known to be any because they are still being read. As
/// many as calls, where those may be more.
const MOST_OTHERS: u32 = 256;
/// Rates of callers who have not been here for a while are forgotten when there are this many.
const MOST_RATES: usize = 4096;

/// Sessions of the older era that a caller may open: so many at once,
const SESSIONS_AT_ONCE: NonZeroU32 = NonZeroU32::new(1024).unwrap();
/// and so many in the long run. They are forgotten after five minutes.
const SESSIONS_A_SECOND: NonZeroU32 = NonZeroU32::new(10).unwrap();

/// What each caller may ask for.
#[derive(Debug, Clone, Copy)]
pub struct Shares {
    /// Calls of tools, and other requests that may have to wait, that have not been answered yet.
    pub calls: u32,
    /// Requests a second, in the long run; as many at once. None: as many as it likes.
    pub rate: Option<NonZeroU32>,
}

/// A server's own user is not held up; a stranger cannot fill the queue.
impl Default for Shares {
    fn default() -> Self {
        Self { calls: 256, rate: None }
    }
}

#[derive(Debug)]
pub(super) struct Throttle {
    shares: Shares,
    rates: Option<DefaultKeyedRateLimiter<Principal>>,
    /// Of sessions that are opened.
    sessions: DefaultKeyedRateLimiter<Principal>,
    uses: Arc<Mutex<Uses>>,
}

/// What callers have, those that have anything.
type Uses = HashMap<Principal, Use>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Use {
    calls: u32,
    /// Requests that are no calls, or not read yet.
    others: u32,
    bytes: usize,
    /// Streams that it listens on.
    streams: u32,
}

impl Use {
    const NONE: Self = Self { calls: 0, others: 0, bytes: 0, streams: 0 };
    const CALL: Self = Self { calls: 1, ..Self::NONE };
    const OTHER: Self = Self { others: 1, ..Self::NONE };
    const STREAM: Self = Self { streams: 1, ..Self::NONE };

    fn with_bytes(self, bytes: usize) -> Self {
        Self { bytes, ..self }
    }
}

/// Why a request is not taken.
#[derive(Debug)]
enum Excess {
    Rate { wait: Duration },
    Calls { most: u32 },
    Others { most: u32 },
    Bytes,
    Streams,
}

/// A share of something, which a caller has until this is dropped.
#[derive(Debug)]
struct Held {
    uses: Arc<Mutex<Uses>>,
    caller: Principal,
    what: Use,
}

impl Throttle {
    pub(super) fn new(shares: Shares) -> Self {
        let rates = shares.rate.map(|rate| RateLimiter::keyed(Quota::per_second(rate)));
        let sessions = RateLimiter::keyed(Quota::per_second(SESSIONS_A_SECOND).allow_burst(SESSIONS_AT_ONCE));
        Self { shares, rates, sessions, uses: Arc::default() }
    }

    fn check_rate(&self, caller: &Principal) -> Result<(), Excess> {
        self.rates.as_ref().map_or(Ok(()), |rates| check(rates, caller))
    }

    /// A session takes memory for minutes, whether it is used or not.
    fn check_sessions(&self, caller: &Principal) -> Result<(), Excess> {
        check(&self.sessions, caller)
    }

    fn hold(&self, caller: &Principal, what: Use) -> Result<Held, Excess> {
        let mut uses = self.uses.lock().unwrap_or_else(PoisonError::into_inner);
        let had = uses.get(caller).copied().unwrap_or(Use::NONE);
        let has = Use {
            calls: had.calls + what.calls,
            others: had.others + what.others,
            bytes: had.bytes + what.bytes,
            streams: had.streams + what.streams,
        };
        if has.calls > self.shares.calls {
            return Err(Excess::Calls { most: self.shares.calls });
        }
        let most_others = self.shares.calls.max(MOST_OTHERS);
        if has.others > most_others {
            return Err(Excess::Others { most: most_others });
        }
        if has.bytes > MOST_BYTES {
            return Err(Excess::Bytes);
        }
        if has.streams > MOST_STREAMS {
            return Err(Excess::Streams);
        }
        uses.insert(caller.clone(), has);
        Ok(Held { uses: Arc::clone(&self.uses), caller: caller.clone(), what })
    }
}

fn check(rates: &DefaultKeyedRateLimiter<Principal>, caller: &Principal) -> Result<(), Excess> {
    if rates.len() > MOST_RATES {
        rates.retain_recent();
    }
    let wait = |early: governor::NotUntil<_>| early.wait_time_from(DefaultClock::default().now());
    rates.check_key(caller).map_err(|early| Excess::Rate { wait: wait(early) })
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut uses = self.uses.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(has) = uses.get_mut(&self.caller) {
            has.calls -= self.what.calls;
            has.others -= self.what.others;
            has.bytes -= self.what.bytes;
            has.streams -= self.what.streams;
            if *has == Use::NONE {
                uses.remove(&self.caller);
            }
        }
    }
}

impl Excess {
    fn answer(&self, caller: &Principal) -> Response {
        let (wait, message) = match self {
            Self::Rate { wait } => (*wait, "too many requests a second".to_owned()),
            Self::Calls { most } => {
                (Duration::from_secs(1), format!("{most} calls of yours have not been answered yet, which is the most"))
            }
            Self::Others { most } => {
                (Duration::from_secs(1), format!("{most} requests of yours are on the way, which is the most"))
            }
            Self::Streams => {
                (Duration::from_secs(1), format!("you listen on {MOST_STREAMS} streams already, which is the most"))
            }
            Self::Bytes => (
                Duration::from_secs(1),
                format!("requests of yours that go on have {MOST_BYTES} bytes, which is the most"),
            ),
        };
        tracing::warn!(principal = %caller, reason = message, "a request was not taken");
        let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
        let message = format!("{message}; try again in {} s", seconds.max(1));
        let headers = [(header::RETRY_AFTER, seconds.max(1).to_string())];
        (headers, refuse(StatusCode::TOO_MANY_REQUESTS, &message)).into_response()
    }
}

/// Takes in a request's body, and holds callers to their shares.
pub(super) async fn throttle(State(throttle): State<Arc<Throttle>>, request: Request, next: Next) -> Response {
    let caller = request.extensions().get::<Principal>().cloned().unwrap_or_default();
    if request.method() != Method::POST {
        let held = match throttle.hold(&caller, if request.method() == Method::GET { Use::STREAM } else { Use::OTHER })
        {
            Ok(held) => held,
            Err(excess) => return excess.answer(&caller),
        };
        return keep(next.run(request).await, held);
    }
    if let Err(excess) = throttle.check_rate(&caller) {
        return excess.answer(&caller);
    }
    let (mut parts, body) = request.into_parts();
    let announced = match throttle.hold(&caller, Use::OTHER.with_bytes(body_size(&parts.headers))) {
        Ok(bytes) => bytes,
        Err(excess) => return excess.answer(&caller),
    };
    let reading = axum::body::to_bytes(body, MAX_BODY);
    let body = match tokio::time::timeout(BODY_TIME, reading).await {
        Ok(Ok(body)) => body,
        Ok(Err(_)) => {
            let message = format!("a request has at most {MAX_BODY} bytes");
            return refuse(StatusCode::PAYLOAD_TOO_LARGE, &message);
        }
        Err(_) => return refuse(StatusCode::REQUEST_TIMEOUT, "the request's body did not come in time"),
    };
    let wanted = Wanted::read(&body);
    if wanted == Wanted::Session
        && let Err(excess) = throttle.check_sessions(&caller)
    {
        return excess.answer(&caller);
    }
    // The real size, which is no more than the announced one.
    drop(announced);
    let what = if wanted == Wanted::Call { Use::CALL } else { Use::OTHER };
    let held = match throttle.hold(&caller, what.with_bytes(body.len())) {
        Ok(held) => Arc::new(held),
        Err(excess) => return excess.answer(&caller),
    };
    // A call goes on as long as its handler does, which has these parts; in the older era also when its client has hung up.
    if wanted == Wanted::Call {
        parts.extensions.insert(Arc::clone(&held));
    }
    let response = next.run(Request::from_parts(parts, Body::from(body))).await;
    keep(response, held)
}

/// Holds on to something for as long as a response is being sent.
fn keep(response: Response, held: impl Send + 'static) -> Response {
    response.map(|body| {
        Body::new(body.map_frame(move |frame| {
            let _going = &held;
            frame
        }))
    })
}

/// The announced length, or otherwise the most that is allowed.
fn body_size(headers: &HeaderMap) -> usize {
    let length = headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    length.unwrap_or(MAX_BODY).min(MAX_BODY)
}

/// What a message asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Session,
    /// Its answer may take long: a file is read when the session that has it is not busy, and then it may be large.
    Call,
    /// What never waits. Cancelling is among these: it must be possible whatever goes on.
    Little,
}

/// Requests that never wait, beside notifications. Others may, also such as there are not yet.
const NEVER_WAIT: &[&str] = &[
    "ping",
    "server/discover",
    "logging/setLevel",
    "tools/list",
    "prompts/list",
    "resources/list",
    "resources/templates/list",
    "tasks/get",
    "tasks/update",
    "tasks/cancel",
];

impl Wanted {
    fn read(body: &Bytes) -> Self {
        #[derive(Default, Deserialize)]
        struct Message<'a> {
            #[serde(borrow, default)]
            method: Cow<'a, str>,
        }

        match &*serde_json::from_slice::<Message<'_>>(body).unwrap_or_default().method {
            "initialize" => Self::Session,
            // An answer of the client's, or what makes no sense.
            "" => Self::Little,
            method if method.starts_with("notifications/") || NEVER_WAIT.contains(&method) => Self::Little,
            _ => Self::Call,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_counted_for_each_caller_and_given_back() {
        let throttle = Throttle::new(Shares { calls: 2, rate: None });
        let (ada, grace) = (Principal::new("ada"), Principal::new("grace"));
        let call = Use::CALL;
        let first = throttle.hold(&ada, call).expect("a first");
        let second = throttle.hold(&ada, call).expect("a second");
        assert!(matches!(throttle.hold(&ada, call), Err(Excess::Calls { most: 2 })));
        assert!(throttle.hold(&grace, call).is_ok());
        drop(first);
        assert!(throttle.hold(&ada, call).is_ok());
        drop(second);
        assert!(throttle.uses.lock().expect("a lock").is_empty());
    }

    #[test]
    fn memory_is_each_callers_own() {
        let throttle = Throttle::new(Shares::default());
        let ada = Principal::new("ada");
        let large = Use::OTHER.with_bytes(MAX_BODY);
        let _held = [throttle.hold(&ada, large).expect("one"), throttle.hold(&ada, large).expect("two")];
        assert!(matches!(throttle.hold(&ada, Use::OTHER.with_bytes(1)), Err(Excess::Bytes)));
        assert!(throttle.hold(&Principal::new("grace"), large).is_ok());
    }

    #[test]
    fn streams_have_a_limit_of_their_own() {
        let throttle = Throttle::new(Shares::default());
        let ada = Principal::new("ada");
        let held: Vec<Held> = (0..MOST_STREAMS).map(|_| throttle.hold(&ada, Use::STREAM).expect("one more")).collect();
        assert!(matches!(throttle.hold(&ada, Use::STREAM), Err(Excess::Streams)));
        assert!(throttle.hold(&ada, Use::CALL).is_ok());
        assert!(throttle.hold(&Principal::new("grace"), Use::STREAM).is_ok());
        drop(held);
        assert!(throttle.hold(&ada, Use::STREAM).is_ok());
    }

    /// With calls, they are less than there are connections: nobody locks out the others.
    #[test]
    fn requests_that_are_no_calls_have_a_limit_of_their_own() {
        let throttle = Throttle::new(Shares::default());
        let ada = Principal::new("ada");
        let held: Vec<Held> = (0..MOST_OTHERS).map(|_| throttle.hold(&ada, Use::OTHER).expect("one more")).collect();
        assert!(matches!(throttle.hold(&ada, Use::OTHER), Err(Excess::Others { most: MOST_OTHERS })));
        assert!(throttle.hold(&ada, Use::CALL).is_ok());
        assert!(throttle.hold(&Principal::new("grace"), Use::OTHER).is_ok());
        drop(held);
        assert!(throttle.hold(&ada, Use::OTHER).is_ok());
    }

    #[test]
    fn a_rate_is_each_callers_own() {
        let throttle = Throttle::new(Shares { rate: NonZeroU32::new(1), ..Shares::default() });
        let ada = Principal::new("ada");
        let taken = (0..10).filter(|_| throttle.check_rate(&ada).is_ok()).count();
        // Another one where these took a second.
        assert!((1..=2).contains(&taken), "{taken}");
        assert!(throttle.check_rate(&Principal::new("grace")).is_ok());
    }

    #[test]
    fn what_may_wait_is_a_call() {
        for (body, expected) in [
            (r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}"#, Wanted::Call),
            (r#"{"params":{"method":"x"},"method":"tools\/call"}"#, Wanted::Call),
            (
                r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"method":"tools/call"}}"#,
                Wanted::Little,
            ),
            (r#"{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"x"}}"#, Wanted::Call),
            (r#"{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"x"}}"#, Wanted::Call),
            (r#"{"jsonrpc":"2.0","id":1,"method":"completion/complete"}"#, Wanted::Call),
            (r#"{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen"}"#, Wanted::Call),
            (r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#, Wanted::Little),
            (r#"{"jsonrpc":"2.0","id":1,"method":"tasks/cancel"}"#, Wanted::Little),
            (r#"{"jsonrpc":"2.0","id":1,"method":"initialize"}"#, Wanted::Session),
            (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, Wanted::Little),
            ("no JSON", Wanted::Little),
        ] {
            assert_eq!(Wanted::read(&Bytes::from(body)), expected, "{body}");
        }
    }
}
