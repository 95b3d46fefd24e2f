//! Arguments of tools, as a model wrote them. What is wrong with them is said in a sentence that the model can act on.

use sandbox::Refusal;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::room;

/// The most that is repeated of what a caller sent.
const MOST_ECHO: usize = 300;

/// Reads a tool's arguments. A null counts as left out.
pub(crate) fn read<T: DeserializeOwned + JsonSchema>(given: Option<Map<String, Value>>) -> Result<T, Refusal> {
    let given = given.unwrap_or_default().into_iter().filter(|(_, value)| !value.is_null()).collect();
    let given = Value::Object(given);
    serde_path_to_error::deserialize(&given).map_err(|error| explain(&error, &given, &schema_of::<T>()))
}

/// What is wrong, in the words of the schema. Every call reads arguments, but only the few that are wrong get here.
fn explain(
    error: &serde_path_to_error::Error<serde_json::Error>,
    given: &Value,
    schema: &Map<String, Value>,
) -> Refusal {
    let known: Vec<&str> = names(schema, "properties").collect();
    let mut sent = given.as_object().into_iter().flat_map(Map::keys);
    if let Some(unknown) = sent.find(|name| !known.contains(&name.as_str())) {
        return unknown_argument(unknown, &known);
    }
    if let Some(missing) = required(schema).into_iter().find(|name| given.get(name).is_none()) {
        let hint = format!("send `{missing}`, {}", wanted(schema, &missing));
        return Refusal::new("arguments", format!("`{missing}` is missing"), hint);
    }
    let path = error.path().to_string();
    let top = path.split(['.', '[']).next().unwrap_or_default();
    let message = room::shortened(&format!("`{path}` cannot be used: {}", in_words(error.inner())), MOST_ECHO);
    Refusal::new("arguments", message, format!("`{top}` is {}", wanted(schema, top)))
}

/// Without the names of Rust's numbers.
fn in_words(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let Some((what, expected)) = text.rsplit_once(", expected ") else { return text };
    let expected = match expected {
        "a nonzero u64" => "a whole number, 1 or more",
        "u64" | "u32" | "usize" => "a whole number, 0 or more",
        other => other,
    };
    format!("{what}, expected {expected}")
}

/// The schema of a tool's arguments.
pub(crate) fn schema_of<T: JsonSchema>() -> Map<String, Value> {
    schema::<T>(SchemaSettings::draft2020_12())
}

/// The schema of a tool's results. Clients hold results against it: what is null where there is nothing may be null, and is always there.
pub(crate) fn schema_of_result<T: JsonSchema>() -> Map<String, Value> {
    schema::<T>(SchemaSettings::draft2020_12().for_serialize())
}

/// Everything in place, nothing by reference: some clients cannot follow references.
fn schema<T: JsonSchema>(settings: SchemaSettings) -> Map<String, Value> {
    let settings = settings.with(|settings| settings.inline_subschemas = true);
    let schema: Schema = settings.into_generator().into_root_schema_for::<T>();
    let mut schema = schema.as_object().cloned().unwrap_or_default();
    // The name of a Rust type, and a dialect that is the default.
    for noise in ["$schema", "title", "description"] {
        schema.remove(noise);
    }
    tidy(&mut schema);
    schema
}

/// Takes out what only costs a model's attention: formats of Rust's numbers, defaults that say "nothing", and null where a property can
/// be left out.
fn tidy(schema: &mut Map<String, Value>) {
    for noise in ["default", "format"] {
        schema.remove(noise);
    }
    if schema.get("minimum").is_some_and(|minimum| *minimum == 0) {
        schema.remove("minimum");
    }
    let required = required(schema);
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        for (name, property) in properties.iter_mut() {
            let Value::Object(property) = property else { continue };
            if !required.contains(name) {
                forbid_null(property);
            }
            tidy(property);
        }
    }
    for part in ["items", "additionalProperties"] {
        if let Some(Value::Object(inner)) = schema.get_mut(part) {
            tidy(inner);
        }
    }
}

fn forbid_null(property: &mut Map<String, Value>) {
    if let Some(Value::Array(kinds)) = property.get_mut("type") {
        kinds.retain(|kind| *kind != "null");
        if let [kind] = kinds.as_slice() {
            let kind = kind.clone();
            property.insert("type".to_owned(), kind);
        }
    }
}

fn names<'a>(schema: &'a Map<String, Value>, part: &str) -> impl Iterator<Item = &'a str> {
    schema.get(part).and_then(Value::as_object).into_iter().flat_map(|part| part.keys().map(String::as_str))
}

fn required(schema: &Map<String, Value>) -> Vec<String> {
    let list = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    list.filter_map(|name| name.as_str().map(str::to_owned)).collect()
}

/// What an argument should be, in the words of its description.
fn wanted(schema: &Map<String, Value>, name: &str) -> String {
    let property = schema.get("properties").and_then(|properties| properties.get(name));
    let description = property.and_then(|property| property.get("description")).and_then(Value::as_str);
    description.map_or_else(|| "as the tool's schema has it".to_owned(), |text| format!("\"{text}\""))
}

fn unknown_argument(unknown: &str, known: &[&str]) -> Refusal {
    let list = || known.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let hint = match sandbox::nearest(unknown, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None if known.is_empty() => "this tool takes none".to_owned(),
        None => format!("there are {}", list()),
    };
    let unknown = room::shortened(unknown, MOST_ECHO);
    Refusal::new("arguments", format!("`{unknown}` is not an argument of this tool"), hint)
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Debug, Deserialize, JsonSchema, PartialEq)]
    #[serde(deny_unknown_fields)]
    struct Example {
        /// The program
        code: String,
        /// Milliseconds
        #[serde(default)]
        timeout_ms: Option<u64>,
        /// Arguments of the program
        #[serde(default)]
        args: Vec<String>,
    }

    fn read_example(value: &Value) -> Result<Example, String> {
        let given = value.as_object().cloned();
        read(given).map_err(|refusal| format!("{}; {}", refusal.message(), refusal.hint()))
    }

    #[test]
    fn schemas_are_short() {
        let expected = json!({
            "type": "object",
            "properties": {
                "code": {"description": "The program", "type": "string"},
                "timeout_ms": {"description": "Milliseconds", "type": "integer"},
                "args": {"description": "Arguments of the program", "type": "array", "items": {"type": "string"}},
            },
            "additionalProperties": false,
            "required": ["code"],
        });
        assert_eq!(Value::Object(schema_of::<Example>()), expected);
    }

    #[test]
    fn what_is_right_is_read() {
        let read = read_example(&json!({"code": "1", "timeout_ms": null, "args": ["a"]}));
        assert_eq!(read, Ok(Example { code: "1".to_owned(), timeout_ms: None, args: vec!["a".to_owned()] }));
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (given, expected) in [
            (json!({}), "`code` is missing; send `code`, \"The program\""),
            (json!({"cod": "1"}), "`cod` is not an argument of this tool; did you mean `code`?"),
            (
                json!({"code": "1", "zzz": 1}),
                "`zzz` is not an argument of this tool; there are `code`, `timeout_ms`, `args`",
            ),
            (
                json!({"code": "1", "timeout_ms": -5}),
                "`timeout_ms` cannot be used: invalid value: integer `-5`, expected a whole number, 0 or more; `timeout_ms` is \"Milliseconds\"",
            ),
            (
                json!({"code": 1}),
                "`code` cannot be used: invalid type: integer `1`, expected a string; `code` is \"The program\"",
            ),
            (
                json!({"code": "", "args": ["a", 2]}),
                "`args[1]` cannot be used: invalid type: integer `2`, expected a string; `args` is \"Arguments of the program\"",
            ),
        ] {
            let seen = read_example(&given).expect_err("wrong");
            assert_eq!(seen, expected, "{given}");
        }
    }
}
