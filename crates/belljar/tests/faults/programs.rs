//! What is run: programs whose answer is known.

use serde_json::{Value, json};

/// Language and engine of programs that take no time. Python and Node wait for them natively.
pub(crate) const QUICK: [(&str, &str); 5] =
    [("python", "wasm"), ("javascript", "wasm"), ("python", "native"), ("javascript", "native"), ("bash", "native")];

/// Arguments of a call that says its secret, and what it prints.
pub(crate) fn quick((language, engine): &(&str, &str), secret: &str) -> (Value, String) {
    let code = match *language {
        "python" => format!("import sys\nprint('{secret}', input())\nopen('f', 'w').write('{secret}')"),
        "javascript" => format!("console.log('{secret}', require('fs').readFileSync(0, 'utf8'))"),
        _ => format!("read -r line; echo {secret} $line"),
    };
    let typed = format!("typed-{secret}");
    let newline = if *language == "bash" { "\n" } else { "" };
    let arguments = json!({"language": language, "engine": engine, "code": code, "stdin": format!("{typed}{newline}")});
    (arguments, format!("{secret} {typed}\n"))
}
