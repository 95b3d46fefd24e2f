//! A day in the life, through a real client: data in, explored, plotted, a report out. Asks this machine's registries for pandas.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::json;

use super::{call, python, refusal, structured};
use crate::client::Client;

fn prices() -> String {
    let mut csv = "month,tea,coffee\n".to_owned();
    for month in 1..=12 {
        let tea = 300 + 10 * month;
        let coffee = 500 - 15 * month + (month % 3) * 20;
        csv.push_str(&[month, tea, coffee].map(|number| number.to_string()).join(","));
        csv.push('\n');
    }
    csv
}

#[test]
fn from_a_table_to_a_report() {
    let mut client = Client::initialized();
    structured(&call(&mut client, "write_file", &json!({"session": "day", "path": "sales.csv", "text": prices()})));

    let first = python(&mut client, "day", "import pandas as pd\ndf = pd.read_csv('sales.csv')\ndf.head(3)");
    let got = structured(&first);
    assert_eq!(
        got["result_repr"],
        "   month  tea  coffee\n0      1  310     505\n1      2  320     510\n2      3  330     455",
        "{first:#}"
    );
    assert_eq!(got["displays"][0]["mime"], "text/html", "{first:#}");

    let second = python(&mut client, "day", "df['total'] = df.tea + df.coffee\nint(df.total.sum())");
    assert_eq!(structured(&second)["result"], 9_450, "{second:#}");
    let third = python(&mut client, "day", "df.loc[df.coffee.idxmin(), 'month'].item()");
    assert_eq!(structured(&third)["result"], 12, "{third:#}");

    let plot = "import matplotlib.pyplot as plt\nfig, ax = plt.subplots(figsize=(6, 3))\ndf.plot(x='month', y=['tea', 'coffee'], ax=ax, marker='o')\nax.set_title('Sales')\nfig.tight_layout()\nNone";
    let plotted = python(&mut client, "day", plot);
    assert_eq!(structured(&plotted)["displays"][0]["mime"], "image/png", "{plotted:#}");
    let picture = &plotted["content"].as_array().expect("blocks").iter().find(|block| block["type"] == "image");
    let picture = picture.expect("a picture")["data"].as_str().expect("base64");
    let png = BASE64_STANDARD.decode(picture).expect("base64");
    assert!(png.starts_with(b"\x89PNG") && png.len() > 5_000, "{} bytes", png.len());

    let report = "open('report.md', 'w').write(f'# Sales\\n\\nTotal {df.total.sum()}, best month of tea: {df.loc[df.tea.idxmax(), \"month\"]}.\\n')\nNone";
    let written = python(&mut client, "day", report);
    assert_eq!(structured(&written)["files"][0]["path"], "report.md", "{written:#}");
    let read = call(&mut client, "read_file", &json!({"session": "day", "path": "report.md"}));
    assert_eq!(structured(&read)["text"], "# Sales\n\nTotal 9450, best month of tea: 12.\n", "{read:#}");
}

#[test]
fn several_ways_from_one_state() {
    let mut client = Client::initialized();
    let cell = |client: &mut Client, session: &str, code: &str| {
        let arguments =
            json!({"session": session, "engine": "wasm", "language": "python", "code": code, "memory_mb": 600});
        structured(&client.run(&arguments))["result"].clone()
    };
    // More memory than usual, which its copies have too.
    cell(&mut client, "base", "import statistics\ndata = [3, 5, 9]\nopen('log', 'w').write('base')");
    for way in ["one", "two"] {
        structured(&call(&mut client, "fork_session", &json!({"session": "base", "as": way})));
    }
    let again = call(&mut client, "fork_session", &json!({"session": "base", "as": "two"}));
    assert!(refusal(&again).contains("a session `two` already"), "{again}");
    let native = json!({"session": "base", "language": "python", "code": "import threading\nthreading.Thread(target=print).start()"});
    let hint = client.run(&native)["structuredContent"]["error"]["hint"].take();
    assert!(hint.as_str().is_some_and(|hint| hint.contains("another session")), "{hint}");
    assert_eq!(cell(&mut client, "one", "data.append(100)\nopen('log', 'a').write(' one')\nlen(data)"), 4);
    assert_eq!(cell(&mut client, "two", "data.clear()\nopen('log').read()"), "base");
    assert_eq!(
        cell(&mut client, "base", "[round(statistics.mean(data), 2), open('log').read()]"),
        json!([5.67, "base"])
    );
    structured(&call(&mut client, "save_session", &json!({"session": "one", "as": "kept"})));
    structured(&call(&mut client, "close_session", &json!({"session": "one"})));
    structured(&call(&mut client, "restore_session", &json!({"session": "kept", "as": "again"})));
    assert_eq!(cell(&mut client, "again", "[data, open('log').read()]"), json!([[3, 5, 9, 100], "base one"]));
    let listed = structured(&call(&mut client, "list_sessions", &json!({})))["saved"].clone();
    assert!(listed.as_array().is_some_and(|names| names.contains(&json!("kept"))), "{listed}");
    structured(&call(&mut client, "close_session", &json!({"session": "kept", "saved": true})));
    let gone = call(&mut client, "restore_session", &json!({"session": "kept", "as": "never"}));
    assert!(refusal(&gone).contains("no saved session `kept`"), "{gone}");
}

#[test]
fn a_figure_is_shown_however_it_was_made_unless_it_is_too_large() {
    let mut client = Client::initialized();
    let code = "from matplotlib.figure import Figure\nfigure = Figure()\nfigure.subplots().plot([1, 2])\ndisplay(figure)\n'kept'";
    let shown = python(&mut client, "f", code);
    let got = structured(&shown);
    assert_eq!((&got["result"], &got["displays"][0]["mime"]), (&json!("kept"), &json!("image/png")), "{shown:#}");
    let large =
        python(&mut client, "f", "figure.set_size_inches(1000, 1000)\nfigure.dpi = 1000\ndisplay(figure)\n'kept'");
    let got = structured(&large);
    assert_eq!((&got["result"], got.get("displays")), (&json!("kept"), None), "{large:#}");
    assert!(got["stderr"].as_str().is_some_and(|text| text.contains("1000000 x 1000000 pixels")), "{large:#}");
}

/// Without a session too, and without the program saving anything.
#[test]
fn a_plain_run_shows_its_figures() {
    let mut client = Client::initialized();
    let code = "import matplotlib.pyplot as plt\nplt.plot([1, 2, 3])\nplt.show()\nplt.figure()\nplt.bar([1, 2], [3, 4])\nprint('end')";
    // The second time it is one that waited.
    for _ in 0..2 {
        let result = client.run(&json!({"language": "python", "code": code}));
        let got = structured(&result);
        assert_eq!((&got["stdout"], &got["engine"]), (&json!("end\n"), &json!("native")), "{result:#}");
        let displays = got["displays"].as_array().expect("displays");
        assert!(displays.len() == 2 && displays.iter().all(|display| display["mime"] == "image/png"), "{result:#}");
        let pictures = result["content"].as_array().expect("blocks").iter().filter(|block| block["type"] == "image");
        assert_eq!(pictures.count(), 2, "{result:#}");
        std::thread::sleep(std::time::Duration::from_secs(2));
    }
}
