//! Whatever a guest or its compiler prints, in any language: an answer within its bounds, in time that is linear in what is read.
#![no_main]

use std::time::Duration;

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use sandbox::{Evidence, Language, Step, diagnose};

#[derive(Debug, Arbitrary)]
struct Output<'a> {
    language: u8,
    is_compiler: bool,
    /// How often it is printed.
    times: u16,
    source: Option<&'a str>,
    stdout: &'a str,
    stderr: &'a str,
}

fuzz_target!(|output: Output<'_>| {
    let languages = Language::all();
    let language = languages.get(usize::from(output.language) % (languages.len() + 1)).map_or("kit", |row| row.id);
    let step = if output.is_compiler { Step::Compile } else { Step::Run };
    // Enough to fill the window that is read, where that is asked for.
    let times = if output.times % 8 == 0 { 200_000 / (output.stderr.len() + 1) } else { usize::from(output.times % 8) };
    let stderr = output.stderr.repeat(times);
    let source = output.source.unwrap_or("main.x");
    let evidence = Evidence { language, step, stderr: &stderr, stdout: output.stdout, source };
    if let Some(error) = belljar_fuzz::within(Duration::from_secs(2), || diagnose(&evidence)) {
        assert!(!error.kind.is_empty() && error.kind.len() <= 200);
        assert!(error.message.len() <= 2_000);
        assert!(!error.kind.contains(char::is_control) && !error.message.contains(char::is_control));
        assert_ne!(error.line, Some(0));
    }
});
