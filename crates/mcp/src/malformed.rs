//! Requests whose parameters do not fit their method. rmcp takes those for unknown methods, which would send models
//! looking for another one.

use rmcp::model::{CustomRequest, ProtocolVersion};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::Value;

/// A method, its parameters, and what works.
type Method = (&'static str, &'static [Parameter], &'static str);

struct Parameter {
    name: &'static str,
    kind: Kind,
    need: Need,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Object,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Need {
    Required,
    Optional,
}

const fn text(name: &'static str) -> Parameter {
    Parameter { name, kind: Kind::Text, need: Need::Required }
}

const fn object(name: &'static str) -> Parameter {
    Parameter { name, kind: Kind::Object, need: Need::Required }
}

impl Parameter {
    const fn optional(self) -> Self {
        Self { need: Need::Optional, ..self }
    }
}

const LIST: &[Parameter] = &[text("cursor").optional()];
const TASK: &[Parameter] = &[text("taskId")];

/// Those that are answered here, in either era.
const METHODS: &[Method] = &[
    (
        "tools/call",
        &[text("name"), object("arguments").optional()],
        r#"{"name": "run_code", "arguments": {"code": "print(6 * 7)"}}"#,
    ),
    (
        "prompts/get",
        &[text("name"), object("arguments").optional()],
        r#"{"name": "compute", "arguments": {"question": "2 ** 100"}}"#,
    ),
    ("resources/read", &[text("uri")], r#"{"uri": "runtime://python"}"#),
    (
        "completion/complete",
        &[object("ref"), object("argument")],
        r#"{"ref": {"type": "ref/resource", "uri": "runtime://{language}"}, "argument": {"name": "language", "value": "py"}}"#,
    ),
    ("tasks/get", TASK, r#"{"taskId": "..."}"#),
    ("tasks/cancel", TASK, r#"{"taskId": "..."}"#),
    ("tasks/update", &[text("taskId"), object("inputResponses")], r#"{"taskId": "...", "inputResponses": {}}"#),
    ("tools/list", LIST, "{}"),
    ("prompts/list", LIST, "{}"),
    ("resources/list", LIST, "{}"),
    ("resources/templates/list", LIST, "{}"),
];

/// What the newer era no longer has: its clients have to be told just that.
const OLDER: &[Method] = &[("logging/setLevel", &[text("level")], r#"{"level": "info"}"#)];

/// Which methods a client knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    Older,
    Newer,
}

impl Era {
    pub(crate) fn of(context: &RequestContext<RoleServer>) -> Self {
        let is_newer = |version: ProtocolVersion| version.as_str() >= ProtocolVersion::STANDARD_HEADERS.as_str();
        if context.protocol_version().is_some_and(is_newer) { Self::Newer } else { Self::Older }
    }

    fn find(self, request: &CustomRequest) -> Option<&'static Method> {
        let older = if self == Self::Older { OLDER } else { &[] };
        METHODS.iter().chain(older).find(|(method, ..)| *method == request.method)
    }
}

/// What is wrong with a request that does not fit its method, and an example that works; `None` if there is no such
/// method.
pub(crate) fn explain(request: &CustomRequest, era: Era) -> Option<ErrorData> {
    let (method, parameters, example) = era.find(request)?;
    let fault = fault_of(request, method, parameters);
    Some(ErrorData::invalid_params(format!("{fault}; send `params` such as {example}"), None))
}

/// The same without an example, which not every server has.
pub(crate) fn fault(request: &CustomRequest) -> Option<String> {
    let (method, parameters, _) = Era::Newer.find(request)?;
    Some(fault_of(request, method, parameters))
}

fn fault_of(request: &CustomRequest, method: &str, parameters: &[Parameter]) -> String {
    let Some(Value::Object(params)) = &request.params else { return format!("`{method}` has no `params`") };
    let fault = parameters.iter().find_map(|parameter| {
        let kind = if parameter.kind == Kind::Text { "a text" } else { "an object" };
        match params.get(parameter.name) {
            None if parameter.need == Need::Required => {
                Some(format!("`{}` of `{method}` is missing, {kind}", parameter.name))
            }
            None => None,
            Some(Value::Null) if parameter.need == Need::Optional => None,
            Some(value) if parameter.takes(value) => None,
            Some(value) => {
                Some(format!("`{}` of `{method}` is {} and has to be {kind}", parameter.name, kind_of(value)))
            }
        }
    });
    fault.unwrap_or_else(|| format!("the `params` of `{method}` cannot be read"))
}

impl Parameter {
    fn takes(&self, value: &Value) -> bool {
        match self.kind {
            Kind::Text => value.is_string(),
            Kind::Object => value.is_object(),
        }
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use rmcp::model::ClientRequest;
    use serde_json::json;

    use super::*;

    fn read(method: &str, params: &Value) -> ClientRequest {
        let mut message = json!({"method": method, "params": params});
        if params.is_null() {
            message.as_object_mut().expect("an object").remove("params");
        }
        serde_json::from_value(message).expect("any request can be read")
    }

    #[test]
    fn what_is_wrong_is_named_and_what_works_is_shown() {
        for (method, params, expected) in [
            ("tools/call", Value::Null, "`tools/call` has no `params`; send `params` such as {\"name\""),
            ("tools/call", json!({"name": 5}), "`name` of `tools/call` is a number and has to be a text;"),
            ("tools/call", json!({"arguments": {}}), "`name` of `tools/call` is missing, a text;"),
            (
                "tools/call",
                json!({"name": "run_code", "arguments": "{\"code\": 1}"}),
                "`arguments` of `tools/call` is a text and has to be an object;",
            ),
            (
                "tools/call",
                json!({"name": "run_code", "arguments": []}),
                "`arguments` of `tools/call` is a list and has to be an object;",
            ),
            ("prompts/get", json!({}), "`name` of `prompts/get` is missing, a text;"),
            ("resources/read", json!({}), "`uri` of `resources/read` is missing, a text;"),
            ("tasks/get", json!({}), "`taskId` of `tasks/get` is missing, a text;"),
            (
                "completion/complete",
                json!({"ref": {}, "argument": {}}),
                "the `params` of `completion/complete` cannot be read;",
            ),
        ] {
            let ClientRequest::CustomRequest(request) = read(method, &params) else {
                panic!("{method} {params} is read")
            };
            let error = explain(&request, Era::Older).unwrap_or_else(|| panic!("{method} is not known"));
            assert_eq!(error.code.0, -32602);
            assert!(error.message.starts_with(expected), "{method} {params}: {}", error.message);
        }
        assert!(explain(&CustomRequest::new("no/such/method", None), Era::Older).is_none());
        let level = CustomRequest::new("logging/setLevel", Some(json!({"level": "loud"})));
        assert!(explain(&level, Era::Older).is_some_and(|error| error.code.0 == -32602));
        assert!(explain(&level, Era::Newer).is_none());
    }

    /// What is shown as what works does.
    #[test]
    fn examples_can_be_read() {
        for (method, _, example) in METHODS.iter().chain(OLDER) {
            let params: Value = serde_json::from_str(example).expect("JSON");
            let request = read(method, &params);
            assert!(!matches!(request, ClientRequest::CustomRequest(_)), "{method} {example}");
        }
    }
}
