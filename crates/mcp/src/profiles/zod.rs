//! What is wrong with arguments, in the words of zod, with which several originals check them.

use serde_json::{Map, Value, json};

use crate::room::shortened;
use crate::tools::MOST_ECHO;

/// Its releases have words of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Zod {
    V3,
    V4,
}

/// An argument.
#[derive(Debug, Clone, Copy)]
pub(super) struct Field<'a> {
    pub(super) name: &'static str,
    pub(super) kind: Kind<'a>,
    pub(super) need: Need,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Kind<'a> {
    Text,
    OneOf(&'a [&'a str]),
    Record,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Need {
    Required,
    Optional,
}

/// Something that is wrong.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Issue {
    path: &'static str,
    expected: String,
    received: &'static str,
    message: String,
}

impl Zod {
    /// What is wrong with arguments, if anything is.
    pub(super) fn check(self, given: &Map<String, Value>, fields: &[Field<'_>]) -> Vec<Issue> {
        fields.iter().filter_map(|field| self.check_one(given.get(field.name), field)).collect()
    }

    fn check_one(self, value: Option<&Value>, field: &Field<'_>) -> Option<Issue> {
        let received = value.map_or("undefined", kind_of);
        let (fits, expected) = match field.kind {
            Kind::Text => (received == "string", "string".to_owned()),
            Kind::Record => (received == "object", "record".to_owned()),
            Kind::OneOf(values) => {
                let fits = value.and_then(Value::as_str).is_some_and(|value| values.contains(&value));
                (fits, values.iter().map(|value| format!("'{value}'")).collect::<Vec<_>>().join(" | "))
            }
        };
        if fits || (value.is_none() && field.need == Need::Optional) {
            return None;
        }
        let message = match (self, field.kind, value) {
            (Self::V3, _, None) => "Required".to_owned(),
            (Self::V3, Kind::OneOf(_), Some(Value::String(value))) => {
                format!("Invalid enum value. Expected {expected}, received '{}'", shortened(value, MOST_ECHO))
            }
            (Self::V3, Kind::Record, Some(_)) => format!("Expected object, received {received}"),
            (Self::V3, Kind::Text | Kind::OneOf(_), Some(_)) => format!("Expected {expected}, received {received}"),
            (Self::V4, _, _) => format!("Invalid input: expected {expected}, received {received}"),
        };
        Some(Issue { path: field.name, expected, received, message })
    }
}

/// As servers of today's SDK for TypeScript tell it, in a tool's result.
pub(super) fn sentence(tool: &str, issues: &[Issue]) -> String {
    let issues: Vec<String> = issues.iter().map(|issue| format!("{} at {}", issue.message, issue.path)).collect();
    let issues = issues.join("\n");
    format!("MCP error -32602: Input validation error: Invalid arguments for tool {tool}: {issues}")
}

/// As those of 2025 do, in an error of the protocol.
pub(super) fn list(tool: &str, issues: &[Issue]) -> String {
    let entry = |issue: &Issue| {
        json!({
            "code": "invalid_type", "expected": issue.expected, "received": issue.received,
            "path": [issue.path], "message": issue.message,
        })
    };
    let issues = Value::Array(issues.iter().map(entry).collect());
    format!("MCP error -32602: Invalid arguments for tool {tool}: {issues:#}")
}

/// What they say of an unknown level of log messages.
pub(super) fn bad_level(level: &Value) -> String {
    let options = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];
    let expected = options.map(|option| format!("'{option}'")).join(" | ");
    let received = shortened(level.as_str().unwrap_or_default(), MOST_ECHO);
    let whole = level.to_string();
    let level = if whole.len() > MOST_ECHO { json!(shortened(&whole, MOST_ECHO)) } else { level.clone() };
    let issue = json!({
        "received": level, "code": "invalid_enum_value", "options": options, "path": ["params", "level"],
        "message": format!("Invalid enum value. Expected {expected}, received '{received}'"),
    });
    format!("{:#}", Value::Array(vec![issue]))
}

/// What they say of an unknown tool.
pub(super) fn no_tool(name: &str) -> String {
    format!("MCP error -32602: Tool {} not found", shortened(name, MOST_ECHO))
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
