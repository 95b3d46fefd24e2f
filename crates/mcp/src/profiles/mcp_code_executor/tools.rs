//! The nine tools.

use rmcp::model::Tool;
use serde_json::{Value, json};

use crate::profiles::tool;

/// In this order. Some say which kind of environment is in use.
pub(super) fn tools(kind: &str) -> Vec<Tool> {
    let text = |description: &str| json!({"type": "string", "description": description});
    let file = || text("A file in the folder for code files");
    let list = || json!({"type": "array", "items": {"type": "string"}, "description": "Their names"});
    let object = |properties: Value, required: &[&str]| {
        let always = [("type", json!("object")), ("properties", properties)];
        let required = (!required.is_empty()).then(|| ("required", json!(required)));
        let schema = always.into_iter().chain(required).map(|(name, value)| (name.to_owned(), value));
        Value::Object(schema.collect())
    };
    let tools = [
        (
            "execute_code",
            format!(
                "Run a short Python program in the {kind} environment. It is kept as a file; longer ones are better sent in parts."
            ),
            object(json!({"code": text("The program"), "filename": text("What its file is called")}), &["code"]),
        ),
        (
            "initialize_code_file",
            "Begin a Python file. More can be added to it, and it can be run.".to_owned(),
            object(json!({"content": text("Its first part"), "filename": text("What it is called")}), &["content"]),
        ),
        (
            "append_to_code_file",
            "Add to a Python file.".to_owned(),
            object(json!({"file_path": file(), "content": text("What is added")}), &["file_path", "content"]),
        ),
        ("execute_code_file", "Run a Python file.".to_owned(), object(json!({"file_path": file()}), &["file_path"])),
        ("read_code_file", "Read a Python file.".to_owned(), object(json!({"file_path": file()}), &["file_path"])),
        (
            "install_dependencies",
            format!("Install packages into the {kind} environment, for good."),
            object(json!({"packages": list()}), &["packages"]),
        ),
        (
            "check_installed_packages",
            format!("Ask which packages the {kind} environment has. Nothing is imported."),
            object(json!({"packages": list()}), &["packages"]),
        ),
        (
            "configure_environment",
            "Use another environment, among those that the operator allows.".to_owned(),
            object(
                json!({
                    "type": {"type": "string", "enum": ["conda", "venv", "venv-uv"], "description": "Its kind"},
                    "conda_name": text("Its name, of conda"),
                    "venv_path": text("Its path, of virtualenv"),
                    "uv_venv_path": text("Its path, of uv"),
                }),
                &["type"],
            ),
        ),
        ("get_environment_config", "Say which environment is in use.".to_owned(), object(json!({}), &[])),
    ];
    tools.into_iter().map(|(name, description, schema)| tool(name, description, &schema)).collect()
}
