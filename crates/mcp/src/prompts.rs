//! Prompts: what it is good for, one click away.

use rmcp::ErrorData;
use rmcp::model::{GetPromptResult, JsonObject, Prompt, PromptArgument, PromptMessage, Role};
use serde_json::Value;

use crate::room;
use crate::tools::MOST_ECHO;

struct Template {
    name: &'static str,
    title: &'static str,
    description: &'static str,
    /// Names, descriptions, and whether they must be given.
    arguments: &'static [(&'static str, &'static str, bool)],
    text: fn(&Given<'_>) -> String,
}

/// What was given for an argument.
type Given<'a> = dyn Fn(&str) -> String + 'a;

const TEMPLATES: &[Template] = &[
    Template {
        name: "compute",
        title: "Compute an answer",
        description: "Work a question out with code instead of from memory",
        arguments: &[("question", "What to find out", true)],
        text: |given| {
            format!(
                "Answer this by writing and running a short Python program with run_code, then explain the result in a sentence or two. \
                 Do not answer from memory.\n\nQuestion: {}",
                given("question")
            )
        },
    },
    Template {
        name: "analyze-data",
        title: "Analyze data",
        description: "Look at pasted data: shape, quality, what stands out",
        arguments: &[("data", "CSV, JSON or text", true), ("goal", "What you want to know", false)],
        text: |given| {
            format!(
                "Analyze the data below with run_code: put it into `files`, read it in Python, check its shape and quality first, then {}. \
                 Show the numbers that support what you say.\n\n{}",
                Some(given("goal")).filter(|goal| !goal.is_empty()).unwrap_or_else(|| "say what stands out".to_owned()),
                given("data")
            )
        },
    },
    Template {
        name: "test-code",
        title: "Test a piece of code",
        description: "Run code against cases that could break it",
        arguments: &[("code", "The code", true), ("language", "Its language", false)],
        text: |given| {
            format!(
                "Test this {} code with run_code: run it on ordinary input, on edge cases and on bad input, and report what fails, with the \
                 smallest input that shows it and a fix.\n\n{}",
                given("language"),
                given("code")
            )
        },
    },
];

pub(crate) fn list() -> Vec<Prompt> {
    let argument = |(name, description, required): &(&'static str, &'static str, bool)| {
        PromptArgument::new(*name).with_description(*description).with_required(*required)
    };
    let prompt = |template: &Template| {
        let arguments = template.arguments.iter().map(argument).collect();
        Prompt::new(template.name, Some(template.description), Some(arguments)).with_title(template.title)
    };
    TEMPLATES.iter().map(prompt).collect()
}

pub(crate) fn get(name: &str, given: &JsonObject) -> Result<GetPromptResult, ErrorData> {
    let Some(template) = TEMPLATES.iter().find(|template| template.name == name) else {
        let names: Vec<&str> = TEMPLATES.iter().map(|template| template.name).collect();
        let hint = match sandbox::nearest(name, names.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("there are `{}`", names.join("`, `")),
        };
        let name = room::shortened(name, MOST_ECHO);
        return Err(ErrorData::invalid_params(format!("there is no prompt `{name}`; {hint}"), None));
    };
    let missing = template.arguments.iter().find(|(name, _, required)| *required && !given.contains_key(*name));
    if let Some((name, description, _)) = missing {
        return Err(ErrorData::invalid_params(format!("`{name}` is missing: {description}"), None));
    }
    let value = |name: &str| given.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let message = PromptMessage::new_text(Role::User, (template.text)(&value));
    Ok(GetPromptResult::new(vec![message]).with_description(template.description))
}
