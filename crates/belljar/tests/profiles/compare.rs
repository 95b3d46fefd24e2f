//! Plays a recording to our server, and compares the answers field by field.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::world::World;

/// A field in which ours differs, or with all that is below it, and why. A reason is the number of a fault in the contract's list, or begins
/// with `deliberate`. That ours differs is not enough, or a tool that is broken would do: it has to be what it should be.
pub(crate) struct Difference {
    pub(crate) entry: &'static str,
    pub(crate) field: &'static str,
    pub(crate) reason: &'static str,
    pub(crate) is_right: fn(&Value) -> bool,
}

#[derive(Deserialize)]
struct Recording {
    entries: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    name: String,
    request: Request,
    reply: Value,
}

#[derive(Deserialize)]
struct Request {
    method: String,
    params: Value,
}

/// Every difference is listed, and every one that is listed is there.
pub(crate) fn compare(world: &World, profile: &str, differences: &[Difference]) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/profiles/recorded/{profile}.json"));
    let recording: Recording = serde_json::from_slice(&fs::read(file).expect("recorded")).expect("a recording");
    let mut client = world.client(profile, &[]);
    let (mut unlisted, mut seen) = (Vec::new(), vec![false; differences.len()]);
    let mut last = String::new();
    for entry in &recording.entries {
        let params = placed(world, &entry.request.params, &last);
        let mut answer = client.request(&entry.request.method, &params);
        if entry.request.method == "initialize" {
            client.notify("notifications/initialized", &json!({}));
        }
        let ours = json!({"result": answer["result"].take(), "error": answer["error"].take()});
        if let Some(file) = file_in(&ours) {
            last = file;
        }
        let theirs = json!({"result": entry.reply["result"], "error": entry.reply["error"]});
        assert_eq!(keys(&ours, &theirs), keys(&theirs, &ours), "{}: the order of keys", entry.name);
        let ours = without_paths(world, &ours);
        for listed in differences.iter().filter(|listed| listed.entry == entry.name) {
            let value = at(&ours, listed.field);
            assert!((listed.is_right)(&value), "{}: {} is {value} ({})", entry.name, listed.field, listed.reason);
        }
        let (ours, theirs) = (leaves(&ours), leaves(&theirs));
        for field in ours.keys().chain(theirs.keys().filter(|field| !ours.contains_key(*field))) {
            if ours.get(field) == theirs.get(field) {
                continue;
            }
            let covers = |listed: &Difference| listed.entry == entry.name && field.starts_with(listed.field);
            match differences.iter().position(covers) {
                Some(place) => seen[place] = true,
                None => unlisted.push(format!(
                    "{} {field}\n  theirs: {}\n  ours:   {}",
                    entry.name,
                    shown(theirs.get(field)),
                    shown(ours.get(field))
                )),
            }
        }
    }
    assert!(unlisted.is_empty(), "{profile} differs in what is not listed:\n{}", unlisted.join("\n"));
    for (listed, seen) in differences.iter().zip(seen) {
        assert!(seen, "{profile}: {} {} does not differ any more ({})", listed.entry, listed.field, listed.reason);
    }
}

/// Requests name places of this machine, and the file of the last answer.
fn placed(world: &World, params: &Value, last: &str) -> Value {
    let text = params.to_string().replace("<last>", last);
    let text = text.replace("<venv>", &world.path("venv").display().to_string());
    serde_json::from_str(&text).expect("still JSON")
}

fn file_in(answer: &Value) -> Option<String> {
    let said: Value = serde_json::from_str(answer["result"]["content"][0]["text"].as_str()?).ok()?;
    Some(said["file_path"].as_str()?.to_owned())
}

/// The keys of an object that is a result's text, in their order, as far as the other one has them too.
fn keys(answer: &Value, other: &Value) -> Vec<String> {
    let object = |answer: &Value| -> Option<serde_json::Map<String, Value>> {
        serde_json::from_str(answer["result"]["content"][0]["text"].as_str()?).ok()
    };
    let (of, other) = (object(answer).unwrap_or_default(), object(other).unwrap_or_default());
    of.into_iter().map(|(key, _)| key).filter(|key| other.contains_key(key)).collect()
}

/// The same without what is this machine's, and this run's.
fn without_paths(world: &World, answer: &Value) -> Value {
    let mut text = answer.to_string();
    for name in ["store", "venv"] {
        text = text.replace(&world.path(name).display().to_string(), &format!("<{name}>"));
    }
    let mut parts = text.split('_');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let is_made_up = part.get(8..11) == Some(".py") && part[..8].bytes().all(|byte| byte.is_ascii_hexdigit());
        plain += "_";
        plain += if is_made_up { "<hex>" } else { "" };
        plain += if is_made_up { &part[8..] } else { part };
    }
    serde_json::from_str(&plain).expect("still JSON")
}

/// What is at a field; objects in texts are objects. Nothing where there is none.
fn at(value: &Value, field: &str) -> Value {
    field.split('/').skip(1).fold(value.clone(), |value, step| {
        let inside = value.as_str().and_then(|text| serde_json::from_str(text).ok()).unwrap_or(value);
        let place = step.parse::<usize>().ok();
        place.and_then(|place| inside.get(place)).or_else(|| inside.get(step)).cloned().unwrap_or_default()
    })
}

/// All fields with their values; objects in texts are objects. Prose has no place in it.
fn leaves(value: &Value) -> BTreeMap<String, Value> {
    let mut leaves = BTreeMap::new();
    let mut pending = vec![(String::new(), value.clone())];
    while let Some((path, value)) = pending.pop() {
        match &value {
            Value::Object(fields) if !fields.is_empty() => {
                let fields =
                    fields.clone().into_iter().filter(|(name, _)| name != "description" && name != "instructions");
                pending.extend(fields.map(|(name, field)| (format!("{path}/{name}"), field)));
            }
            Value::Array(items) if !items.is_empty() => {
                pending.extend(items.iter().enumerate().map(|(at, item)| (format!("{path}/{at}"), item.clone())));
            }
            Value::String(text) if text.starts_with('{') && serde_json::from_str::<Value>(text).is_ok() => {
                pending.push((path, serde_json::from_str(text).expect("JSON")));
            }
            Value::Null if path == "/result" || path == "/error" => {}
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => {
                leaves.insert(path, value);
            }
        }
    }
    leaves
}

fn shown(value: Option<&Value>) -> String {
    value.map_or_else(|| "nothing".to_owned(), |value| value.to_string().chars().take(400).collect())
}
