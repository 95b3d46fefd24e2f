//! What a workspace has itself is asked of nobody.

use serde_json::{Value, json};

use crate::client::Client;
use crate::printed;
use crate::site::Site;

#[test]
fn modules_of_a_session_are_its_own() {
    let wheels = json!({"ledger": {"ledger.py": "x = 'theirs'\n"}, "other": {"other.py": "x = 'other'\n"}});
    let Some(site) = Site::of(0, &wheels) else { return };
    let mut client = Client::of(site.serve()).greeted();
    let mut run = |session: &str, code: &str| {
        client.run(&json!({"session": session, "language": "python", "engine": "native", "code": code}))
    };
    let has_packages = |result: &Value| result["structuredContent"].get("packages").is_some();
    let import = "import ledger\nprint(ledger.x)";
    // The control: where nobody has one, the index is asked.
    let result = run("empty", import);
    assert_eq!((printed(&result), has_packages(&result)), ("theirs\n", true), "{result:#}");
    let write = "open('ledger.py', 'w').write(\"x = 'ours'\\n\"); None";
    run("cells", write);
    let result = run("cells", import);
    assert_eq!((printed(&result), has_packages(&result)), ("ours\n", false), "{result:#}");
    // As many files as are not listed, some before it and some after it.
    let fill = "import os\nfor name in 'az':\n    os.mkdir(name)\n    for number in range(2100): open(f'{name}/{number}', 'w').close()";
    run("full", fill);
    run("full", write);
    let result = run("full", import);
    assert_eq!((printed(&result), has_packages(&result)), ("ours\n", false), "{result:#}");
    let result = run("full", "import other\nprint(other.x)");
    assert_eq!((printed(&result), has_packages(&result)), ("other\n", true), "{result:#}");
    // Before anything ran.
    let draft = json!({"session": "draft", "path": "ledger.py", "text": "x = 'ours'\n"});
    let written = client.request("tools/call", &json!({"name": "write_file", "arguments": draft}));
    assert_ne!(written["result"]["isError"], true, "{written}");
    let cell = json!({"session": "draft", "language": "python", "engine": "native", "code": import});
    let result = client.run(&cell);
    assert_eq!((printed(&result), has_packages(&result)), ("ours\n", false), "{result:#}");
}
