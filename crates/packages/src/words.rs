//! What a client said, in one sentence.

/// The longest sentence.
const LONGEST: usize = 600;

/// The client's own reason out of its standard error.
pub(crate) fn reason(stderr: &str) -> String {
    let plain = without_colours(stderr);
    let lines: Vec<&str> = plain.lines().map(bare).take_while(|line| !line.starts_with("Stack backtrace")).collect();
    let first = lines.iter().position(|line| line.starts_with("error") || line.starts_with('×')).unwrap_or(0);
    let is_told = |line: &&&str| {
        let noise = ["warning", "hint:", "Resolved ", "Using ", "Download ", "Downloading ", "Initialize "];
        !line.is_empty() && !noise.iter().any(|start| line.starts_with(start))
    };
    let told: Vec<&str> = lines.get(first..).unwrap_or_default().iter().filter(is_told).copied().collect();
    let text = told.join(" ");
    let text = text.trim_start_matches("error:").trim_start_matches('×').trim().trim_end_matches('.');
    let text = text.trim_start_matches("No solution found when resolving dependencies").trim_start_matches(':');
    let text = text.trim().trim_start_matches("cause:").trim();
    if text.is_empty() {
        return "the client gave no reason".to_owned();
    }
    text.chars().take(LONGEST).collect()
}

/// Whether it was the registry that did not do its part.
pub(crate) fn is_registrys(stderr: &str) -> bool {
    ["Request failed after", "Failed to fetch", "Failed to download", "error sending request", "Failed loading"]
        .iter()
        .any(|sign| stderr.contains(sign))
}

/// What is said for a client that had no time left to say it.
pub(crate) fn out_of_time<'a>(hosts: impl IntoIterator<Item = &'a String>) -> String {
    let hosts: Vec<String> = hosts.into_iter().map(|host| format!("`{host}`")).collect();
    let who = if hosts.is_empty() { "the registry".to_owned() } else { hosts.join(", ") };
    format!("error: {who} did not answer in time")
}

/// A line without the lines that are drawn around it.
fn bare(line: &str) -> &str {
    line.trim_start_matches([' ', '│', '╰', '├', '─', '▶']).trim_end()
}

fn without_colours(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            '\x1b' => {
                // Up to the letter that ends it.
                characters.by_ref().find(char::is_ascii_alphabetic);
            }
            '\n' => plain.push('\n'),
            control if control.is_control() => {}
            other => plain.push(other),
        }
    }
    plain
}

/// Packages that the registry does not have, by what uv says of them.
pub(crate) fn not_found(stderr: &str) -> Vec<String> {
    let plain: String = without_colours(stderr).lines().map(bare).collect::<Vec<_>>().join(" ");
    let words: Vec<&str> = plain.split_whitespace().collect();
    let mut names = Vec::new();
    for place in words.windows(7) {
        if let [name, "was", "not", "found", "in", "the", "package"] = place {
            names.push(name.trim_matches('`').to_owned());
        }
    }
    // There is one, and nothing of it can be used here.
    for place in words.windows(4) {
        if let [name, "has" | "have", "no", "usable"] = place {
            names.push(name.split(['=', '<', '>', '!']).next().unwrap_or_default().to_owned());
        }
    }
    names.dedup();
    names
}

/// The same by what Deno says.
pub(crate) fn not_in_npm(stderr: &str) -> Vec<String> {
    let plain = without_colours(stderr);
    let quoted = |line: &str| line.split('\'').nth(1).map(str::to_owned);
    let tells = |line: &&str| line.contains("npm package '") && line.contains("does not exist");
    plain.lines().filter(tells).filter_map(quoted).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn uv() {
        let said = "  × No solution found when resolving dependencies:\n  ╰─▶ Because nope-nope was not found in the package registry and you require\n      nope-nope, we can conclude that your requirements are unsatisfiable.\n";
        assert_eq!(
            reason(said),
            "Because nope-nope was not found in the package registry and you require nope-nope, we can conclude that your requirements are unsatisfiable"
        );
        assert_eq!(not_found(said), ["nope-nope"]);
    }

    #[test]
    fn deno() {
        let said = "\x1b[32mDownload\x1b[0m https://x/y\n\x1b[1m\x1b[31merror\x1b[0m: npm package 'nope' does not exist.\n\nStack backtrace:\n   0: <unknown>\n";
        assert_eq!(reason(said), "npm package 'nope' does not exist");
        assert_eq!(not_in_npm(said), ["nope"]);
    }

    #[test]
    fn nothing() {
        assert_eq!(reason(""), "the client gave no reason");
        assert_eq!(reason("\x1b[\x1b"), "the client gave no reason");
    }

    proptest! {
        #[test]
        fn whatever_a_client_says_is_one_sentence(words in proptest::collection::vec(prop_oneof![
            any::<String>(),
            proptest::sample::select(vec![
                "error: ", "× ", "╰─▶ ", "\n", "\x1b[31m", "hint: ", "was not found in the package registry", "has no usable wheels",
                "npm package '", "' does not exist", "Stack backtrace", " ",
            ]).prop_map(str::to_owned),
        ], 0..30)) {
            let said = words.concat();
            let reason = reason(&said);
            prop_assert!(!reason.is_empty() && reason.chars().count() <= LONGEST && !reason.contains(char::is_control));
            prop_assert!(not_found(&said).iter().all(|name| !name.contains(char::is_whitespace)));
            prop_assert!(not_in_npm(&said).iter().all(|name| !name.contains(char::is_control)));
        }
    }
}
