use std::time::Duration;

use sandbox::{Evidence, Language, Step, diagnose};

use crate::time::within;

/// Whatever a guest or its compiler prints, in any language: an answer within its bounds, in time that is linear in what is read.
///
/// The first line of an input names the language, and how the output came about; the rest is the output.
pub fn tracebacks(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let Some((first, output)) = text.split_once('\n') else { return };
    let (name, how) = first.split_once(' ').unwrap_or((first, ""));
    let languages = Language::all();
    let any = name.bytes().next().and_then(|byte| languages.get(usize::from(byte) % (languages.len() + 1)));
    let language = Language::find(name).or(any);
    let step = if how.starts_with("compile") { Step::Compile } else { Step::Run };
    // Enough to show what is not linear, where that is asked for.
    let repeated = how.ends_with("again").then(|| output.repeat(40_000 / (output.len() + 1)));
    let output = repeated.as_deref().unwrap_or(output);
    let evidence = Evidence {
        language: language.map_or("kit", |language| language.id),
        step,
        stderr: output,
        stdout: output,
        source: language.map_or("main.x", |language| language.source),
    };
    if let Some(error) = within(Duration::from_secs(1), || diagnose(&evidence)) {
        assert!(!error.kind.is_empty() && error.kind.len() <= 200);
        assert!(error.message.len() <= 2_000);
        assert!(!error.kind.contains(char::is_control) && !error.message.contains(char::is_control));
        assert_ne!(error.line, Some(0));
    }
}
