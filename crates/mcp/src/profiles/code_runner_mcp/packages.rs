//! Packages of a Python program. If some cannot be installed, it runs anyway, since it may do without them.

use runtime::RunError;
use sandbox::{Language, Outcome, Request};
use serde_json::Value;

use crate::profiles::transcript::Transcript;
use crate::profiles::{Call, why};

/// What `packages` names, with what each is imported as.
pub(super) fn named(call: &Call<'_>) -> Vec<String> {
    let named = call.arguments.get("packages").and_then(Value::as_object);
    let both = |(module, package): (&String, &Value)| Some(format!("{}{FOR}{module}", package.as_str()?));
    named.into_iter().flatten().filter_map(both).collect()
}

/// Between a package and its module, where a request names both.
const FOR: &str = " as ";

/// Runs it with as many of its packages as can be had, which are left in the request. `remarks` tells of the others.
pub(super) async fn run_with_some(
    call: &Call<'_>,
    request: &mut Request,
    heard: &Transcript,
    remarks: &mut Vec<String>,
) -> Result<Outcome, RunError> {
    loop {
        let ended = call.run(request.clone(), heard).await;
        let Err(RunError::Refused(refusal)) = &ended else { return ended };
        if refusal.argument() != "packages" || request.packages.is_empty() {
            return ended;
        }
        let before = request.packages.len();
        // As the original: first all together, then one by one.
        if before > 1 {
            request.packages = one_by_one(call, std::mem::take(&mut request.packages), remarks).await;
        }
        // It is not about one of them alone.
        if request.packages.len() == before {
            remarks.push(refusal.message().to_owned());
            request.packages.clear();
        }
    }
}

/// Those that can be had.
async fn one_by_one(call: &Call<'_>, packages: Vec<String>, remarks: &mut Vec<String>) -> Vec<String> {
    let Some(python) = Language::find("python") else { return packages };
    let mut had = Vec::new();
    for package in packages {
        match call.runtime().install(python, &call.caller(), std::slice::from_ref(&package), &mut ()).await {
            Ok(_) => had.push(package),
            Err(RunError::Refused(refusal)) => remarks.push(refusal.message().to_owned()),
            Err(error @ RunError::Failed(_)) => remarks.push(why(&error)),
        }
    }
    had
}

/// Packages of a program that could not be installed. A session's are those of earlier programs, too, which may not have said yet which
/// package a module is in.
pub(super) fn missing(outcome: &Outcome, code: &str, had: &[String]) -> Vec<String> {
    let Some(provided) = &outcome.packages else { return Vec::new() };
    let is_had = |module: &str| had.iter().any(|package| package.ends_with(&format!("{FOR}{module}")));
    let unknown = provided
        .unknown
        .iter()
        .filter(|module| code.contains(module.as_str()) && !is_had(module))
        .map(|module| format!("there is no package for `{module}`"));
    unknown.chain(provided.problem.clone()).collect()
}
