//! The JavaScript that makes a Node of `QuickJS`. It runs once, before the snapshot.

/// Its parts, in the order in which they are run. What lies near in memory was made at the same time.
pub(super) const FIRST: &str = "first.js";
pub(super) const BUILTINS: &str = "builtins.js";
pub(super) const MAIN: &str = "main.js";

/// What its files are called in the engine, followed by their name. No program can have a file of such a name.
pub(super) const SCHEME: &str = "belljar:";

/// The text of a file of the prelude.
pub(super) fn text(name: &str) -> Option<&'static str> {
    FILES.iter().find(|(file, _)| *file == name).map(|(_, text)| *text)
}

macro_rules! files {
    ($($name:literal)*) => {
        &[$(($name, include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../runtimes/javascript/", $name)))),*]
    };
}

const FILES: &[(&str, &str)] = files! {
    "assert.js" "buffer.js" "builtins.js" "circumstances.js" "clone.js" "console.js" "crypto.js" "decorators.js" "deno.js" "encoding.js" "equal.js" "events.js" "first.js" "fs.js"
    "globals.js" "host.js" "inspect.js" "loop.js" "locale.js" "main.js" "messages.js" "modules.js" "node_error.js" "os.js" "path.js" "performance.js"
    "places.js" "process.js" "proxies.js" "querystring.js" "random.js" "readline.js" "stacks.js" "stream.js" "string_decoder.js"
    "system_error.js" "uncaught.js" "unsupported.js" "url.js" "util.js" "width.js"
};
