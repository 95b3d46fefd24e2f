//! Commands of a page, run one after the other by one shell in a home of their own.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::symlink;
use std::path::Path;

use testkit::arena::SEARCH_PATH;
use testkit::conformance::command::{self, Belljar};
use testkit::runtimes::CACHE;

use crate::client::BELLJAR;
use crate::page::{Fence, Page};

/// Where pages say that readers are.
pub(crate) const HOME: &str = "/home/me";
/// Where they say that the program is.
const PROGRAM: &str = "/home/me/.cargo/bin/belljar";
/// Where they say that servers listen.
const PORT: &str = "8300";

/// What is given to the shell at one time.
struct Step<'a> {
    fence: &'a Fence,
    commands: String,
    /// What the page shows of its output, if it does.
    shown: Option<String>,
}

/// What is wrong with the commands of a page.
pub(crate) fn run(page: &Page, fences: &[&Fence], cache: &Path) -> Vec<String> {
    let steps: Vec<Step<'_>> = fences.iter().flat_map(|fence| steps(fence)).collect();
    let home = Belljar::new(BELLJAR);
    let told = home.directory().join(".told");
    fs::create_dir(&told).expect("our own folder");
    symlink(BELLJAR, told.join("belljar")).expect("our own folder");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("its address").port().to_string();
    drop(listener);
    let mut bash = home.client("bash");
    bash.env("PATH", format!("{}:{SEARCH_PATH}", told.display()))
        .env(CACHE, cache)
        .arg("-c")
        .arg(script(&steps, &told, &port));
    let ended = command::answer(bash, b"");

    let home = home.directory().to_str().expect("text");
    let mut wrong = Vec::new();
    for (number, step) in steps.iter().enumerate() {
        let at = format!("{}\n{}", page.at(step.fence), step.commands);
        let Ok(printed) = fs::read_to_string(told.join(number.to_string())) else {
            wrong.push(format!("{at}was not reached"));
            continue;
        };
        // Where the tests run in a container, it may mask `/proc`.
        let printed = printed.replace("full-noproc", "full");
        let printed =
            printed.replace(BELLJAR, PROGRAM).replace(home, HOME).replace(&format!(":{port}"), &format!(":{PORT}"));
        match &step.shown {
            Some(shown) if !fits(shown.trim_end(), printed.trim_end()) => {
                wrong.push(format!("{at}shows\n{shown}and prints\n{printed}"));
            }
            None if ended.code != Some(0) && !told.join((number + 1).to_string()).is_file() => {
                wrong.push(format!("{at}failed:\n{printed}{}", ended.stderr));
            }
            Some(_) | None => {}
        }
    }
    wrong
}

/// A block of `sh` is one step, in which everything must succeed. In `console`, every `$ ` is one, and what follows is shown of its output.
fn steps(fence: &Fence) -> Vec<Step<'_>> {
    if fence.language == "sh" {
        return vec![Step { fence, commands: fence.text.clone(), shown: None }];
    }
    let mut steps: Vec<Step<'_>> = Vec::new();
    for line in fence.text.lines() {
        match (line.strip_prefix("$ "), steps.last_mut()) {
            (Some(command), _) => {
                steps.push(Step { fence, commands: format!("{command}\n"), shown: Some(String::new()) });
            }
            (None, Some(Step { commands, shown: Some(shown), .. })) => match line.strip_prefix("> ") {
                Some(more) => commands.extend([more, "\n"]),
                None => shown.extend([line, "\n"]),
            },
            (None, Some(Step { shown: None, .. }) | None) => panic!("what is printed before the first command: {line}"),
        }
    }
    steps
}

/// All steps in one shell, so that what one sets, the next has; `$?` too.
fn script(steps: &[Step<'_>], told: &Path, port: &str) -> String {
    let mut script = "trap 'kill $(jobs -p) 2>/dev/null' EXIT\nlast=0\n".to_owned();
    for (number, step) in steps.iter().enumerate() {
        let commands = step.commands.replace(PORT, port);
        let printed = told.join(number.to_string());
        let step = match step.shown {
            Some(_) => format!("{{ (exit $last)\n{commands}last=$?\n}} >{0} 2>&1\n", printed.display()),
            None => format!("{{ set -e\n{commands}set +e\n}} >{0} 2>&1\n", printed.display()),
        };
        script.push_str(&step);
    }
    script + "exit 0\n"
}

/// Whether a text is as it is shown, where `...` stands for anything. Columns may be wider.
pub(crate) fn fits(shown: &str, text: &str) -> bool {
    let narrow = |text: &str| text.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    let (shown, text) = (narrow(shown), narrow(text));
    let mut parts = shown.split("...");
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else { return false };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        let Some((_, after)) = rest.split_once(part) else { return false };
        rest = after;
    }
    rest.ends_with(last)
}
