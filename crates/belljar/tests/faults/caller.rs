//! One of many callers. It knows what may come of each of its calls.

use std::io;

use serde_json::{Value, json};
use testkit::random::Random;

use crate::programs::{QUICK, quick};
use crate::site::{Chance, Ending, Site};

/// What callers are told of a fault, or the end of it.
const TOLD: [&str; 5] = [
    "the worker process that hosted this run has ended; run it again",
    "the launcher process, in which native runs begin, has ended; run it again",
    "the process that supervised this run has ended, and the run with it; run it again",
    "cannot speak with the process that supervises this run; run it again",
    "the process that held it has ended; begin it again",
];

pub(crate) struct Caller<'a, 'b> {
    number: usize,
    calls: u64,
    random: Random,
    site: &'a Site<'b>,
    /// What the counters of its two sessions stand at, where that is known.
    counters: [Option<u64>; 2],
    /// What the counter stood at when it was saved; several, where it is not known whether it was.
    saved: Vec<u64>,
    generation: u64,
}

/// What came of a call.
#[derive(Debug)]
enum Came {
    Answer(Value),
    /// Something broke, and this was said, or nothing could be.
    Fault(String),
}

const ENGINES: [&str; 2] = ["wasm", "native"];

impl<'a, 'b> Caller<'a, 'b> {
    pub(crate) fn new(number: usize, seed: u64, site: &'a Site<'b>) -> Self {
        let random = Random::new(seed ^ (number as u64 + 1));
        Self { number, calls: 0, random, site, counters: [Some(0); 2], saved: Vec::new(), generation: 0 }
    }

    /// Calls until the end. A caller that is not content ends it for all.
    pub(crate) fn work(mut self) {
        let _ending = Ending(self.site);
        while self.site.goes_on() {
            self.calls += 1;
            match self.random.below(10) {
                0..=5 => self.program(),
                6 | 7 => self.cell(),
                8 => self.save(),
                _ => self.restore(),
            }
        }
        for engine in ENGINES {
            self.call("close_session", &json!({"session": self.session(engine)}));
        }
    }

    fn program(&mut self) {
        let kind = *self.random.of(&QUICK.each_ref());
        let secret = format!("secret-{}-{}", self.number, self.calls);
        let (arguments, expected) = quick(&kind, &secret);
        if let Came::Answer(result) = self.call("run_code", &arguments) {
            assert_eq!(result["structuredContent"]["stdout"], expected, "{kind:?}: {result}");
        }
    }

    fn session(&self, engine: &str) -> String {
        format!("{engine}-{}", self.number)
    }

    /// Counts one more, in a session. Variables that are gone without a word would show.
    fn cell(&mut self) {
        let place = usize::try_from(self.random.below(2)).expect("an index");
        let code = "try:\n    n += 1\nexcept NameError:\n    n = 1\nn";
        let engine = ENGINES[place];
        let arguments = json!({"session": self.session(engine), "engine": engine, "language": "python", "code": code});
        let came = self.call("run_code", &arguments);
        let before = self.counters[place].take();
        self.counters[place] = match came {
            Came::Answer(result) => {
                let content = &result["structuredContent"];
                let now = content["result"].as_u64().unwrap_or_else(|| panic!("{engine}: {result}"));
                let expected = match content["state"].as_str() {
                    None => before.map(|before| before + 1),
                    Some("gone" | "lost") => Some(1),
                    Some(other) => panic!("{other}: {result}"),
                };
                assert_eq!(now, expected.unwrap_or(now), "{engine}, {before:?} before: {result}");
                Some(now)
            }
            Came::Fault(text) if text.contains("is gone, with its variables and files") => Some(0),
            Came::Fault(_) => None,
        };
    }

    fn save(&mut self) {
        let name = format!("saved-{}", self.number);
        let arguments = json!({"session": self.session("wasm"), "as": name});
        // What it stands at has to be known, also after a server was replaced.
        let before = self.counters[0];
        let came = self.call("save_session", &arguments);
        match (before, came) {
            // There is no such session yet.
            (_, Came::Answer(result)) if result["isError"] == true => {}
            (_, Came::Answer(_)) => self.saved = self.counters[0].into_iter().collect(),
            (before, Came::Fault(text)) => {
                // What there was before may have been saved over, or not.
                match before {
                    Some(now) if !self.saved.is_empty() => self.saved.push(now),
                    Some(_) | None => self.saved.clear(),
                }
                if text.contains("is gone, with its variables and files") {
                    self.counters[0] = Some(0);
                }
            }
        }
    }

    fn restore(&mut self) {
        if self.saved.is_empty() {
            return;
        }
        let (name, copy) = (format!("saved-{}", self.number), format!("copy-{}", self.number));
        // Of a turn that was cut short.
        self.call("close_session", &json!({"session": copy}));
        if let Came::Answer(result) = self.call("restore_session", &json!({"session": name, "as": copy})) {
            assert_eq!(result["isError"], false, "{result}");
            let (generation, cell) = (self.generation, json!({"session": copy, "language": "python", "code": "n"}));
            let came = self.call("run_code", &cell);
            // Another server has not heard of the copy.
            if let Came::Answer(result) = came
                && self.generation == generation
            {
                let content = &result["structuredContent"];
                let counted = content["result"].as_u64().is_some_and(|counted| self.saved.contains(&counted));
                // It was restored, and its process killed before it could be asked.
                let is_told = content["state"] == "gone";
                assert!(counted || is_told, "saved {:?}: {result}", self.saved);
            }
        }
        self.call("close_session", &json!({"session": copy}));
    }

    /// Whatever is not right must have been said, and there must have been a fault.
    fn call(&mut self, tool: &str, arguments: &Value) -> Came {
        let chance = self.site.chance();
        if chance.generation != self.generation {
            self.generation = chance.generation;
            self.counters = [Some(0); 2];
        }
        let answer = chance.endpoint.modern().call(tool, arguments);
        match answer {
            Ok(mut answer) => self.weigh(tool, answer["result"].take(), &chance),
            Err(error) => {
                assert_ne!(error.kind(), io::ErrorKind::TimedOut, "{tool} hangs: {arguments}");
                assert!(self.site.was_replaced(&chance), "{tool}: {error}: {arguments}");
                self.site.note_told("(the connection to a killed server ended)");
                Came::Fault(error.to_string())
            }
        }
    }

    fn weigh(&self, tool: &str, result: Value, chance: &Chance) -> Came {
        let text = result["content"][0]["text"].as_str().unwrap_or_default();
        let is_killed = result["structuredContent"]["signal"] == "SIGKILL";
        if is_killed || text.starts_with("Failed") {
            assert!(is_killed || TOLD.iter().any(|known| text.ends_with(known)), "{tool}: {result}");
            assert!(self.site.can_blame_a_fault(chance), "nothing had been killed for a while: {tool}: {result}");
            let text = if is_killed { "(killed)" } else { text };
            self.site.note_told(text);
            return Came::Fault(text.to_owned());
        }
        self.site.note_answer();
        Came::Answer(result)
    }
}
