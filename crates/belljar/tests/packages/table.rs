//! Which packages work, and where: each with a small use of it, and nobody names it.

use serde_json::json;

use crate::client::Client;
use crate::printed;

/// A program, what it prints, and the engine that `auto` chooses.
type Row = (&'static str, &'static str, &'static str);

const PYTHON_IN_WASM: [Row; 9] = [
    ("from sympy import integrate, symbols\nx = symbols('x')\nprint(integrate(x**2, x))", "x**3/3\n", "wasm"),
    ("import networkx as nx\nprint(nx.shortest_path(nx.cycle_graph(6), 0, 2))", "[0, 1, 2]\n", "wasm"),
    ("import jinja2\nprint(jinja2.Template('hi {{ n }}').render(n=3))", "hi 3\n", "wasm"),
    ("import attr\n@attr.s\nclass A:\n    x = attr.ib()\nprint(A(3))", "A(x=3)\n", "wasm"),
    (
        "import requests\nprint(requests.Request('GET', 'http://a/b', params={'q': 1}).prepare().url)",
        "http://a/b?q=1\n",
        "wasm",
    ),
    ("from bs4 import BeautifulSoup\nprint(BeautifulSoup('<p>hi</p>', 'html.parser').p.text)", "hi\n", "wasm"),
    ("import yaml\nprint(yaml.safe_load('a: [1, 2]'))", "{'a': [1, 2]}\n", "wasm"),
    (
        "import networkx as nx, numpy as np\nprint(nx.to_numpy_array(nx.path_graph(3)).sum() == np.float64(4))",
        "True\n",
        "wasm",
    ),
    (
        "import importlib.metadata, numpy, six\nprint(importlib.metadata.version('six') == six.__version__)",
        "True\n",
        "wasm",
    ),
];

const PYTHON_IN_NATIVE: [Row; 9] = [
    ("import pandas as pd\nprint(pd.Series([1, 2]).sum())", "3\n", "native"),
    ("from scipy import optimize\nprint(round(optimize.brentq(lambda x: x * x - 2, 0, 2), 6))", "1.414214\n", "native"),
    (
        "from sklearn.linear_model import LinearRegression\nprint(LinearRegression().fit([[1], [2]], [2, 4]).coef_.round(3))",
        "[2.]\n",
        "native",
    ),
    (
        "import matplotlib.pyplot as plt, os\nplt.plot([1, 2])\nplt.savefig('a.png')\nprint(os.path.getsize('a.png') > 1000)",
        "True\n",
        "native",
    ),
    ("from PIL import Image\nprint(Image.new('RGB', (4, 5)).resize((2, 3)).size)", "(2, 3)\n", "native"),
    ("from lxml import etree\nprint(etree.fromstring('<a><b/></a>')[0].tag)", "b\n", "native"),
    ("from pydantic import BaseModel\nclass A(BaseModel):\n    x: int\nprint(A(x='3'))", "x=3\n", "native"),
    ("import polars as pl\nprint(pl.DataFrame({'a': [1, 2]})['a'].sum())", "3\n", "native"),
    // WebAssembly has no `ssl`, so there it ends before it finds that it has no network either.
    (
        "import requests\ntry:\n    requests.get('https://example.com')\nexcept requests.ConnectionError:\n    print('offline')",
        "offline\n",
        "native",
    ),
];

const JAVASCRIPT: [Row; 8] = [
    ("import _ from 'lodash'; console.log(_.chunk([1, 2, 3, 4], 2).length)", "2\n", "wasm"),
    ("import { z } from 'npm:zod'; console.log(z.string().parse('hi'))", "hi\n", "wasm"),
    ("import { z } from 'npm:zod@3.22.4'; console.log(z.number().parse(3))", "3\n", "wasm"),
    (
        "import { addDays, format } from 'date-fns'; console.log(format(addDays(new Date(2020, 0, 1), 2), 'yyyy-MM-dd'))",
        "2020-01-03\n",
        "wasm",
    ),
    ("import { v4, validate } from 'uuid'; console.log(validate(v4()))", "true\n", "wasm"),
    ("import { nanoid } from 'nanoid'; console.log(nanoid().length)", "21\n", "wasm"),
    ("import slugify from '@sindresorhus/slugify'; console.log(slugify('Hello World'))", "hello-world\n", "wasm"),
    ("const _ = require('lodash'); console.log(_.sum([1, 2]))", "3\n", "wasm"),
];

#[track_caller]
fn check(language: &str, engine: &str, rows: &[Row]) {
    let mut client = Client::initialized();
    for (code, expected, chosen) in rows {
        let result = client.run(&json!({"language": language, "engine": engine, "code": code}));
        assert_eq!(printed(&result), *expected, "{code}: {result:#}");
        let took = &result["structuredContent"]["engine"];
        // What is still computing after a second is started natively too, and the first to end wins.
        let is_raced = *chosen == "wasm" && result["structuredContent"]["usage"]["wall_ms"].as_f64() > Some(900.0);
        assert!(took == chosen || is_raced, "{code} ran in {took}: {result:#}");
    }
}

#[test]
fn python_in_wasm() {
    check("python", "auto", &PYTHON_IN_WASM);
    check("python", "wasm", &PYTHON_IN_WASM);
}

#[test]
fn python_in_native() {
    check("python", "auto", &PYTHON_IN_NATIVE);
}

#[test]
fn javascript() {
    check("javascript", "auto", &JAVASCRIPT);
}

#[test]
fn typescript() {
    check("typescript", "auto", &JAVASCRIPT);
}

/// Node and Deno, in programs and in sessions: that the package was asked for in the import makes no difference.
#[test]
fn npm_packages_by_their_own_scheme_in_native() {
    let mut client = Client::initialized();
    for code in [
        "import { z } from 'npm:zod@3.22.4'\nconsole.log(z.string().parse('hi'))",
        "import('npm:lodash/toLower.js').then(({ default: lower }) => console.log(lower('HI')))",
        "const { z } = require('npm:zod@3.22.4')\nconsole.log(z.string().parse('hi'))",
    ] {
        for (language, session) in [("javascript", None), ("javascript", Some("a")), ("typescript", Some("b"))] {
            let mut arguments = json!({"language": language, "engine": "native", "code": code});
            if let Some(session) = session {
                arguments["session"] = session.into();
            }
            let result = client.run(&arguments);
            assert_eq!(printed(&result), "hi\n", "{arguments}: {result:#}");
            assert_eq!(result["structuredContent"]["engine"], "native");
        }
    }
    let code = "import { z } from 'npm:zod@3.22.4'\n\nthrow new TypeError(z.string().parse('no'))";
    let result = client.run(&json!({"language": "javascript", "engine": "native", "code": code}));
    assert_eq!(result["structuredContent"]["error"]["line"], 3, "{result:#}");
    assert_eq!(result["structuredContent"]["files"], json!([]), "the program is none of its files: {result:#}");
}

/// All ways to ask, and that the result tells.
#[test]
fn versions_are_those_that_were_asked_for() {
    let code = "import six\nprint(six.__version__)";
    let inline = format!("# /// script\n# dependencies = ['six==1.15.0']\n# ///\n{code}");
    let mut client = Client::initialized();
    for engine in ["wasm", "native"] {
        for (arguments, expected) in [
            (json!({"packages": ["six==1.15.0"], "code": code}), "1.15.0"),
            (json!({"packages": [" Six >= 1.16 , < 1.17 "], "code": code}), "1.16.0"),
            (json!({"code": inline}), "1.15.0"),
        ] {
            let mut arguments = arguments;
            arguments["language"] = "python".into();
            arguments["engine"] = engine.into();
            let result = client.run(&arguments);
            assert_eq!(printed(&result), format!("{expected}\n"), "{result:#}");
            let installed = &result["structuredContent"]["packages"]["installed"];
            assert_eq!(*installed, json!([{"name": "six", "version": expected}]), "{result:#}");
        }
    }
    // What WebAssembly has built in, in a version that it has not.
    let code = "import numpy\nprint(numpy.__version__)";
    let result = client.run(&json!({"language": "python", "packages": ["numpy==2.3.1"], "code": code}));
    assert_eq!((printed(&result), &result["structuredContent"]["engine"]), ("2.3.1\n", &"native".into()));
}

/// They are installed before it is known which engine the session has.
#[test]
fn packages_of_a_session_are_there_in_either_engine() {
    let mut client = Client::initialized();
    for engine in ["wasm", "native"] {
        let install =
            json!({"name": "install_packages", "arguments": {"session": engine, "packages": ["six==1.15.0"]}});
        assert_eq!(client.request("tools/call", &install)["result"]["isError"], false);
        let code = "print(__import__('s' + 'ix').__version__)";
        let result = client.run(&json!({"session": engine, "engine": engine, "language": "python", "code": code}));
        assert_eq!(printed(&result), "1.15.0\n", "{result:#}");
    }
}
