//! What the originals' own documentation does with them.

use std::process::Stdio;

use serde_json::{Value, json};

use crate::client::Client;
use crate::world::{World, call, text};

fn python(client: &mut Client, code: &str) -> String {
    text(&call(client, "run_python_code", &json!({"python_code": code})), 0).to_owned()
}

/// The programs in the documentation of mcp-run-python.
#[test]
fn examples_of_mcp_run_python() {
    let world = World::new();
    let mut client = world.greeted("mcp-run-python", &["stdio", "--deps", "numpy"]);
    let code = "import numpy\na = numpy.array([1, 2, 3])\nprint(a)\na";
    let expected = "<status>success</status>\n<output>\n[1 2 3]\n</output>\n<return_value>\n[\n  1,\n  2,\n  3\n]\n</return_value>";
    assert_eq!(python(&mut client, code), expected);
    let code = "from datetime import datetime\n(datetime(2025, 3, 12) - datetime(2000, 1, 1)).days";
    assert_eq!(python(&mut client, code), "<status>success</status>\n<return_value>\n9202\n</return_value>");
    let code = "import asyncio\n\nasync def double(x):\n    await asyncio.sleep(0)\n    return x * 2\n\nawait asyncio.gather(double(1), double(2))";
    assert_eq!(python(&mut client, code), "<status>success</status>\n<return_value>\n[\n  2,\n  4\n]\n</return_value>");
    let said = python(&mut client, "import micropip\nawait micropip.install('pandas')");
    assert!(said.starts_with("<status>run-error</status>") && said.contains("`--deps`"), "{said}");
}

/// A text that has no encoding is told all the same.
#[test]
fn half_of_a_surrogate_pair() {
    let world = World::new();
    let mut client = world.greeted("mcp-run-python", &[]);
    let success = |value: &str| format!("<status>success</status>\n<return_value>\n{value}\n</return_value>");
    assert_eq!(python(&mut client, r"'\ud800'"), success(r"\ud800"));
    assert_eq!(python(&mut client, r"{'\ud800': 'é'}"), success("{\n  \"\\\\ud800\": \"é\"\n}"));
    let said = python(&mut client, r"raise ValueError('\udfff')");
    assert!(said.starts_with("<status>run-error</status>") && said.contains("ValueError: \\udfff\n"), "{said}");
    let mut client = world.greeted("mcp-run-python", &["--return-mode", "json"]);
    let said: Value = serde_json::from_str(&python(&mut client, r"['\ud800', 1]")).expect("JSON");
    assert_eq!(said, json!({"status": "success", "output": [], "return_value": [r"\ud800", 1]}));
}

/// What it is told is what the server is told that it shows.
#[test]
fn the_example_of_mcp_run_python_is_of_this_server() {
    let shown = |world: &World, flags: &[&str]| {
        let mut command = world.command(&["--profile", "mcp-run-python", "example"]);
        let output = command.args(flags).stdin(Stdio::null()).output().expect("belljar starts");
        (output.status.success(), String::from_utf8(output.stdout).expect("text"))
    };
    let (is_fine, said) = shown(&World::new(), &["--deps", "six"]);
    assert!(is_fine && said.contains("numpy array: [1 2 3]"), "{said}");
    assert_eq!(shown(&World::new(), &["--deps", "six @ http://127.0.0.1/six.whl"]), (false, String::new()));
    let (is_fine, said) = shown(&World::with("[limits]\ntimeout = \"1ms\"\n"), &[]);
    assert!(!is_fine && said.contains("time limit of 0.001 s"), "{said}");
}

fn runno(runtime: &str, code: &str) -> Value {
    let mut client = World::new().greeted("runno", &[]);
    let result = call(&mut client, "run_code", &json!({"runtime": runtime, "code": code}));
    assert_eq!(text(&result, 0), "Execution completed with exit code 0.", "{result}");
    result["content"][2]["text"].clone()
}

/// The first story of runno's README: a problem as interviewers pose them.
#[test]
fn a_leetcode_problem() {
    let code = "def two_sum(numbers, target):
    seen = {}
    for at, number in enumerate(numbers):
        if target - number in seen:
            return [seen[target - number], at]
        seen[number] = at

for numbers, target in [([2, 7, 11, 15], 9), ([3, 2, 4], 6), ([3, 3], 6)]:
    print(two_sum(numbers, target))
";
    assert_eq!(runno("python", code), "[0, 1]\n[1, 2]\n[0, 1]\n");
}

/// The second: 5,000 primes, in Python and then in C.
#[test]
fn five_thousand_primes() {
    let code = "primes = []
number = 2
while len(primes) < 5000:
    if all(number % prime for prime in primes if prime * prime <= number):
        primes.append(number)
    number += 1
print(primes[-1])
";
    assert_eq!(runno("python", code), "48611\n");
    let code = "#include <stdio.h>

int main(void) {
    static int primes[5000];
    int count = 0;
    for (int number = 2; count < 5000; number++) {
        int is_prime = 1;
        for (int at = 0; at < count && primes[at] * primes[at] <= number; at++)
            if (number % primes[at] == 0) { is_prime = 0; break; }
        if (is_prime) primes[count++] = number;
    }
    printf(\"%d\\n\", primes[4999]);
    return 0;
}
";
    assert_eq!(runno("clang", code), "48611\n");
}

/// What a program prints is its own, whatever belljar calls its folders.
#[test]
fn an_address_is_no_path() {
    let code = "print('https://shop.example/box/1 /box/x', __file__)";
    assert_eq!(runno("python", code), "https://shop.example/box/1 /box/x /program\n");
}

/// The third: a percentile with NumPy, which the original has not.
#[test]
fn a_percentile_with_numpy() {
    let code = "import numpy as np\nprint(np.percentile([15, 20, 35, 40, 50], 75))";
    assert_eq!(runno("python", code), "40.0\n");
}
