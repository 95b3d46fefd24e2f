//! One of many callers. It knows what must come of each of its calls.

use std::io::Write as _;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::mcp_http::{Client, Endpoint};
use testkit::processes;
use testkit::random::Random;

use crate::programs::{self, CRASHES, ENDLESS, FLOOD, GREEDY, MOST_OUTPUT};
use crate::site::{Ending, Site};

/// The era of a caller.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Speaks {
    Legacy,
    Modern,
}

/// What becomes of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Quick,
    Throws,
    Crashes,
    TimesOut,
    Greedy,
    Large,
    Floods,
    Cancelled,
    Refused,
    Unknown,
    /// The caller is gone before there is an answer.
    Vanishes,
    /// The caller says goodbye, and is back at once.
    Returns,
}

/// How many of a hundred calls.
const MIX: [(Kind, u64); 12] = [
    (Kind::Quick, 54),
    (Kind::Throws, 9),
    (Kind::Crashes, 6),
    (Kind::TimesOut, 5),
    (Kind::Greedy, 3),
    (Kind::Large, 1),
    (Kind::Floods, 1),
    (Kind::Cancelled, 6),
    (Kind::Refused, 5),
    (Kind::Unknown, 4),
    (Kind::Vanishes, 4),
    (Kind::Returns, 2),
];

/// How long after a cancel or a lost connection anything of a run may be seen, while the machine is busy with all the others.
const GONE_AFTER: Duration = Duration::from_secs(20);

/// The limit of runs whose callers vanish: in the older era the server cannot know, because a client may take its stream up again.
const FORSAKEN_MS: u64 = 1000;

#[derive(Debug)]
pub(crate) struct Caller<'a> {
    number: u64,
    calls: u64,
    speaks: Speaks,
    endpoint: Endpoint,
    /// Somebody else.
    foreign: Endpoint,
    client: Client,
    random: Random,
    site: &'a Site,
}

impl<'a> Caller<'a> {
    pub(crate) fn new(number: u64, speaks: Speaks, endpoint: Endpoint, foreign: Endpoint, site: &'a Site) -> Self {
        let client = connect(speaks, &endpoint);
        Self { number, calls: 0, speaks, endpoint, foreign, client, random: Random::new(number), site }
    }

    /// Calls until the end. A caller that is not content ends it for all.
    pub(crate) fn work(mut self) {
        let _ending = Ending(self.site);
        while self.site.goes_on() {
            let _turn = self.site.calling();
            let (kind, started) = (kind(&mut self.random), Instant::now());
            self.make(kind);
            self.site.count(kind, started.elapsed());
        }
    }

    fn make(&mut self, kind: Kind) {
        self.calls += 1;
        let secret = self.site.secret(&format!("{}-{}-{:x}", self.number, self.calls, self.random.next_number()));
        match kind {
            Kind::Quick => self.quick(&secret),
            Kind::Throws => self.throws(&secret),
            Kind::Crashes => self.crashes(&secret),
            Kind::TimesOut => self.times_out(&secret),
            Kind::Greedy => self.greedy(&secret),
            Kind::Large => self.large(&secret),
            Kind::Floods => self.floods(&secret),
            Kind::Cancelled => self.cancelled(&secret),
            Kind::Refused => self.refused(),
            Kind::Unknown => self.unknown(),
            Kind::Vanishes => self.vanishes(&secret),
            Kind::Returns => self.returns(),
        }
    }

    fn quick(&mut self, secret: &str) {
        let language = self.random.of(&["python", "python", "javascript", "javascript", "bash"]);
        let engine = self.random.of(&["auto", "auto", "auto", "native"]);
        let typed = format!("typed {secret}");
        let code = programs::quick(language, secret);
        let result = self.run(secret, json!({"language": language, "engine": engine, "code": code, "stdin": typed}));
        let content = &result["structuredContent"];
        let expected =
            json!([0, format!("{secret} {secret} {typed}\n"), format!("{secret}\n"), format!("{secret}.txt")]);
        let seen = json!([content["exit_code"], content["stdout"], content["stderr"], content["files"][0]["path"]]);
        assert_eq!(seen, expected, "{language}, {engine}: {result}");
        if content["engine"] == "wasm" {
            assert_eq!(content["result"], secret, "{language}: {result}");
        }
        if self.random.one_in(4) {
            self.owns(&content["files"][0]["uri"], &format!("{secret}\n"));
        }
    }

    /// What a run left can be read by this caller, and by nobody else.
    fn owns(&self, uri: &Value, expected: &str) {
        let read = |client: &Client| client.request("resources/read", json!({"uri": uri})).expect("an answer");
        let ours = read(&self.client);
        let text = ours["result"]["contents"][0]["text"].as_str().unwrap_or_else(|| panic!("{uri}: {ours}"));
        assert!(text.starts_with(expected), "{uri}: not {expected:?}, but {text:.200}");
        let theirs = read(&self.foreign.modern());
        assert_eq!(theirs["error"]["code"], -32602, "{theirs}");
    }

    fn throws(&mut self, secret: &str) {
        let language = self.random.of(&["python", "javascript", "bash"]);
        let result = self.run(secret, json!({"language": language, "code": programs::throws(language, secret)}));
        let content = &result["structuredContent"];
        assert_eq!((&result["isError"], &content["exit_code"]), (&json!(true), &json!(1)), "{language}: {result}");
        assert!(content["stderr"].as_str().is_some_and(|text| text.contains(secret)), "{language}: {result}");
        if language != "bash" {
            assert_eq!(content["error"]["message"], secret, "{language}: {result}");
        }
    }

    fn crashes(&mut self, secret: &str) {
        let (language, engine, code, expected) = *self.random.of(&CRASHES.each_ref());
        let result = self.run(secret, json!({"language": language, "engine": engine, "code": code}));
        let content = &result["structuredContent"];
        let seen = if expected.starts_with("SIG") { &content["signal"] } else { &content["error"]["kind"] };
        assert_eq!((seen, &result["isError"]), (&json!(expected), &json!(true)), "{code}: {result}");
    }

    fn times_out(&mut self, secret: &str) {
        let (language, engine, code) = *self.random.of(&ENDLESS.each_ref());
        let limit = 10 + self.random.below(200);
        let result =
            self.run(secret, json!({"language": language, "engine": engine, "code": code, "timeout_ms": limit}));
        assert_eq!(result["structuredContent"]["status"], "timed_out", "{code}: {result}");
    }

    fn greedy(&mut self, secret: &str) {
        let (language, engine, code) = *self.random.of(&GREEDY.each_ref());
        let result = self.run(secret, json!({"language": language, "engine": engine, "code": code, "memory_mb": 64}));
        let content = &result["structuredContent"];
        // Where the machine has no cgroups, a native program is told no and fails.
        let is_told_no = content["isolation"]["memory"] == "rlimit" && content["exit_code"] == 1;
        assert!(content["limit"] == "memory" || is_told_no, "{code}: {result}");
    }

    fn large(&mut self, secret: &str) {
        let engine = self.random.of(&["wasm", "native"]);
        let result = self.run(secret, json!({"language": "python", "engine": engine, "code": programs::large(secret)}));
        assert_eq!(result["structuredContent"]["stdout"], format!("{} {secret}\n", 200 << 20), "{engine}: {result}");
    }

    fn floods(&mut self, secret: &str) {
        let (language, engine) = *self.random.of(&[&("python", "wasm"), &("bash", "native")]);
        let code = programs::floods(language, secret);
        let result =
            self.run(secret, json!({"language": language, "engine": engine, "code": code, "timeout_ms": 60_000}));
        let content = &result["structuredContent"];
        let (head, tail) = (format!("head {secret}\n"), format!("\ntail {secret}\n"));
        // JSON takes two characters for a line's end.
        let half = MOST_OUTPUT / 2;
        let first = format!("{head}{}", "x".repeat(half - head.len() - 1));
        let last = format!("{}{tail}", "x".repeat(half - tail.len() - 2));
        let dropped = head.len() + FLOOD + tail.len() - first.len() - last.len();
        let expected = format!("{first}\n[… {dropped} bytes dropped …]\n{last}");
        assert_eq!((&content["exit_code"], &content["dropped"]["stdout"]), (&json!(0), &json!(dropped)), "{language}");
        assert!(content["stdout"] == expected, "{language}: the output is not the one of this run");
        if self.random.one_in(3) {
            let run = content["run"].as_str().unwrap_or_else(|| panic!("a flood without a name"));
            self.owns(&json!(format!("run://{run}/stdout?offset=0&limit=1000")), &head);
        }
    }

    fn cancelled(&mut self, secret: &str) {
        let language = self.random.of(&["python", "javascript", "bash"]);
        let exchange = programs::lasting(&self.client, language, secret);
        let answer = self.client.cancel(exchange).unwrap_or_else(|error| panic!("{secret}: {error}"));
        assert_eq!(answer, None, "{language}: an answer to what was cancelled");
        processes::assert_gone(secret, GONE_AFTER);
    }

    fn refused(&mut self) {
        let cases = programs::refused();
        let (arguments, expected) = self.random.of(&cases.each_ref());
        let answer = self.client.call("run_code", arguments).expect("an answer");
        let text = answer["result"]["content"][0]["text"].as_str().unwrap_or_default();
        assert!(text.starts_with(expected) && answer["result"]["isError"] == true, "{arguments}: {answer}");
    }

    fn unknown(&mut self) {
        let (method, params, code) = if self.random.one_in(2) {
            ("tools/call", json!({"name": "run_cod", "arguments": {}}), -32602)
        } else {
            ("no/such/method", json!({}), -32601)
        };
        let answer = self.client.request(method, params).expect("an answer");
        assert_eq!(answer["error"]["code"], code, "{method}: {answer}");
    }

    fn vanishes(&mut self, secret: &str) {
        if self.random.one_in(4) {
            return self.sends_half();
        }
        let code = self.random.of(&["echo up; sleep 600", "yes $1", "echo \"$1\" > file"]);
        let arguments = json!({"language": "bash", "code": code, "args": [secret], "timeout_ms": FORSAKEN_MS});
        let params = json!({"name": "run_code", "arguments": arguments, "_meta": {"progressToken": secret}});
        let after = Duration::from_millis(1 + self.random.below(250));
        // Some are answered in time.
        drop(self.client.send_and_vanish("tools/call", params, after));
        processes::assert_gone(secret, GONE_AFTER);
        self.client = connect(self.speaks, &self.endpoint);
    }

    /// A connection that is lost in the middle of a request.
    fn sends_half(&self) {
        let mut stream = TcpStream::connect(self.endpoint.address()).expect("it listens");
        let host = self.endpoint.address();
        let half = format!("POST /mcp HTTP/1.1\r\nHost: {host}\r\nContent-Length: 100000\r\n\r\n{{\"jsonrpc\":");
        stream.write_all(half.as_bytes()).expect("it reads");
    }

    fn returns(&mut self) {
        let next = connect(self.speaks, &self.endpoint);
        let last = std::mem::replace(&mut self.client, next);
        last.end().expect("the session is there");
    }

    /// Calls `run_code`. All that comes must be this call's.
    fn run(&mut self, secret: &str, mut arguments: Value) -> Value {
        arguments["args"] = json!([secret]);
        let mut params = json!({"name": "run_code", "arguments": arguments});
        if self.random.one_in(2) {
            params["_meta"] = json!({"progressToken": secret});
        }
        let sent = self.client.send("tools/call", params);
        let mut exchange = sent.unwrap_or_else(|error| panic!("{arguments}: {error}"));
        let mut result = None;
        while let Some(mut message) = exchange.next_message().unwrap_or_else(|error| panic!("{arguments}: {error}")) {
            self.is_own(secret, &message);
            if message.get("method").is_some() {
                let seen = (&message["method"], &message["params"]["progressToken"], &result);
                assert_eq!(seen, (&json!("notifications/progress"), &json!(secret), &None), "{arguments}: {message}");
            } else {
                let whole = message["result"].take();
                assert!(whole["structuredContent"].is_object(), "{arguments}: {whole}{message}");
                assert_eq!(result.replace(whole), None, "{arguments}: two answers");
            }
        }
        result.unwrap_or_else(|| panic!("{arguments}: no answer, status {}", exchange.status()))
    }

    /// Wherever there is a secret, it is this one, or its beginning at the end of what is told.
    fn is_own(&self, secret: &str, message: &Value) {
        let text = message.to_string();
        for (place, _) in text.match_indices(self.site.marker()) {
            let found = text[place..].split(['"', '\\']).next().unwrap_or_default();
            assert!(found.starts_with(secret) || secret.starts_with(found), "not {secret}, but {found}");
        }
    }
}

fn connect(speaks: Speaks, endpoint: &Endpoint) -> Client {
    match speaks {
        Speaks::Legacy => endpoint.legacy().expect("a session"),
        Speaks::Modern => endpoint.modern(),
    }
}

fn kind(random: &mut Random) -> Kind {
    let mut rest = random.below(MIX.iter().map(|(_, share)| share).sum());
    for (kind, share) in MIX {
        if rest < share {
            return kind;
        }
        rest -= share;
    }
    Kind::Quick
}
