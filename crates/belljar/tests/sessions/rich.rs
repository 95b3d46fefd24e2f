//! Rich output: checked on our side, for the guest made it.

use serde_json::{Value, json};

use super::{python, structured};
use crate::client::Client;

const DISPLAYS: &str = r##"
class Many:
    def _repr_html_(self): return "<table><tr><td>1</td></tr></table>"
    def _repr_markdown_(self): return "# one"
    def _repr_json_(self): return {"a": [1, 2]}
    def _repr_latex_(self): return "$x^2$"
    def _repr_svg_(self): return "<svg xmlns='http://www.w3.org/2000/svg'></svg>"
    def __repr__(self): return "Many()"
Many()
"##;

#[test]
fn a_value_has_its_rich_forms() {
    for engine in ["native", "wasm"] {
        let mut client = Client::initialized();
        let result = client.run(&json!({"session": "r", "engine": engine, "language": "python", "code": DISPLAYS}));
        let got = structured(&result);
        assert_eq!(got["result_repr"], "Many()", "{engine}: {result:#}");
        let displays = got["displays"].as_array().expect("displays");
        for (mime, contains) in [
            ("text/html", "<table>"),
            ("image/svg+xml", "<svg"),
            ("text/markdown", "# one"),
            ("text/latex", "$x^2$"),
            ("application/json", "["),
        ] {
            let display = displays.iter().find(|display| display["mime"] == mime);
            let uri = display.unwrap_or_else(|| panic!("{engine}: no {mime} in {result:#}"))["uri"].clone();
            let read = client.request("resources/read", &json!({"uri": uri}));
            let text = read["result"]["contents"][0]["text"].as_str().expect("text");
            assert!(text.contains(contains), "{engine} {mime}: {read}");
            assert_eq!(read["result"]["contents"][0]["mimeType"], mime);
        }
    }
}

/// One pixel, as JPEG.
const PIXEL: &str = "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAP//////////////////////////////////////////////////////////////////////////////////////wAALCAABAAEBAREA/8QAFAABAAAAAAAAAAAAAAAAAAAAAP/EABQQAQAAAAAAAAAAAAAAAAAAAAD/2gAIAQEAAD8AP//Z";

#[test]
fn a_picture_is_shown_as_it_is() {
    let code =
        format!("import base64\nclass Pixel:\n    def _repr_jpeg_(self): return base64.b64decode('{PIXEL}')\nPixel()");
    for engine in ["native", "wasm"] {
        let mut client = Client::initialized();
        let result = client.run(&json!({"session": "r", "engine": engine, "language": "python", "code": code}));
        assert_eq!(mimes(&result), ["image/jpeg"], "{engine}");
        let picture = json!({"type": "image", "data": PIXEL, "mimeType": "image/jpeg"});
        assert_eq!(result["content"][1], picture, "{engine}: {result:#}");
    }
}

/// What `displays` has.
#[track_caller]
fn mimes(result: &Value) -> Vec<&str> {
    let displays = structured(result)["displays"].as_array().unwrap_or_else(|| panic!("nothing is shown: {result:#}"));
    displays.iter().map(|display| display["mime"].as_str().expect("text")).collect()
}

/// Asks this machine's registries for them.
#[test]
fn libraries_show_what_they_draw() {
    let mut client = Client::initialized();
    for (session, package, code, mime, contains) in [
        (
            "plotly",
            "plotly",
            "import plotly.graph_objects as go\ngo.Figure(go.Scatter(y=[1, 2]))",
            "application/vnd.plotly.v1+json",
            "\"scatter\"",
        ),
        // Which version of Vega-Lite that is depends on its own.
        (
            "altair",
            "altair==5.5.0",
            "import altair as alt\nalt.Chart(alt.Data(values=[{'y': 1}])).mark_point().encode(y='y:Q')",
            "application/vnd.vegalite.v5+json",
            "\"quantitative\"",
        ),
        (
            "bokeh",
            "bokeh",
            "from bokeh.plotting import figure\nshown = figure()\nshown.line([1, 2], [3, 4])\nshown",
            "application/vnd.bokeh+json",
            "\"root_id\"",
        ),
    ] {
        let cell = json!({"session": session, "language": "python", "packages": [package], "code": code});
        let result = client.run(&cell);
        assert_eq!(mimes(&result), [mime], "{session}");
        let read = client.request("resources/read", &json!({"uri": structured(&result)["displays"][0]["uri"]}));
        let shown = &read["result"]["contents"][0];
        assert_eq!(shown["mimeType"], mime);
        assert!(shown["text"].as_str().is_some_and(|text| text.contains(contains)), "{session}: {read}");
    }
    // The second has more colours than PNG.
    for mode in ["RGB", "CMYK"] {
        let code = format!("from PIL import Image\nImage.new('{mode}', (4, 3))");
        let result = python(&mut client, "pillow", &code);
        assert_eq!(mimes(&result), ["image/png"], "{mode}");
        assert_eq!(result["content"][1]["mimeType"], "image/png", "{mode}: {result:#}");
    }
}

#[test]
fn what_is_not_what_it_says_is_not_shown() {
    let mut client = Client::initialized();
    let code = "class Fake:\n    def _repr_png_(self): return b'<script>alert(1)</script>'\nFake()";
    let result = python(&mut client, "r", code);
    assert_eq!(structured(&result).get("displays"), None, "{result}");
    assert!(result["content"].as_array().expect("blocks").iter().all(|block| block["type"] == "text"), "{result}");
    let code =
        "class Raises:\n    def _repr_html_(self): raise KeyError('x')\n    def __repr__(self): return 'R'\nRaises()";
    assert_eq!(structured(&python(&mut client, "r", code))["result_repr"], "R");
}

#[test]
fn so_many_displays_and_no_more() {
    let mut client = Client::initialized();
    let code =
        "class H:\n    def _repr_html_(self): return '<b>' + 'x' * 100_000\nfor n in range(40): display(H())\n'done'";
    let result = python(&mut client, "r", code);
    let displays = structured(&result)["displays"].as_array().expect("displays");
    assert_eq!(displays.len(), 16);
    let told = structured(&result)["stderr"].as_str().expect("text");
    assert!(told.contains("not shown"), "{result:#}");
    let code = "class Big:\n    def _repr_html_(self): return 'x' * 1_000_000_000\n    def __repr__(self): return 'Big'\nBig()";
    let result = client.run(&json!({"session": "r2", "language": "python", "code": code, "memory_mb": 2048}));
    assert!(result["structuredContent"].get("displays").is_none(), "{result}");
    assert!(result.to_string().len() < 1 << 20);
}
