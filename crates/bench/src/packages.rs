//! `bench packages`: what importing packages costs a caller of the server, the first time and the second.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;

use crate::mcp::{Client, Report};
use crate::server;
use crate::statistics::Timings;

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Timings of each kind
    #[arg(long, default_value_t = 15)]
    rounds: u32,
    /// The folder of provisioned runtimes. Packages that it has are not installed again: an empty `packages` in it shows a first time
    #[arg(long)]
    cache: PathBuf,
    /// Milliseconds between a caller's calls, as between those of a model
    #[arg(long, default_value_t = 1000)]
    pause: u64,
}

const PANDAS_BUDGET_MS: f64 = 60.0;
const NUMPY_BUDGET_MS: f64 = 2.0;
const LODASH_BUDGET_MS: f64 = 120.0;
const ZOD_BUDGET_MS: f64 = 120.0;

struct Import {
    name: &'static str,
    language: &'static str,
    code: &'static str,
    stdout: &'static str,
    budget_ms: Option<f64>,
    /// Whether the budget is for calls that come at once. Others are for those that come after a while, when something may wait for them.
    at_once: bool,
}

const IMPORTS: &[Import] = &[
    Import {
        name: "pandas",
        language: "python",
        code: "import pandas as pd\nprint(pd.Series([1, 2]).sum())",
        stdout: "3\n",
        budget_ms: Some(PANDAS_BUDGET_MS),
        at_once: false,
    },
    Import {
        name: "matplotlib",
        language: "python",
        code: "import matplotlib.pyplot as plt\nprint(len(plt.subplots()))",
        stdout: "2\n",
        budget_ms: None,
        at_once: false,
    },
    Import {
        name: "scipy",
        language: "python",
        code: "import scipy.stats\nprint(round(scipy.stats.norm.cdf(0), 2))",
        stdout: "0.5\n",
        budget_ms: None,
        at_once: false,
    },
    Import {
        name: "NumPy, WebAssembly",
        language: "python",
        code: "import numpy as np\nprint(np.arange(3).sum())",
        stdout: "3\n",
        budget_ms: Some(NUMPY_BUDGET_MS),
        at_once: true,
    },
    Import {
        name: "sympy, WebAssembly",
        language: "python",
        code: "import sympy\nprint(sympy.integrate('x'))",
        stdout: "x**2/2\n",
        budget_ms: None,
        at_once: true,
    },
    Import {
        name: "lodash, TypeScript",
        language: "typescript",
        code: "import _ from 'lodash'\nconst n: number = _.sum([1, 2])\nconsole.log(n)",
        stdout: "3\n",
        budget_ms: Some(LODASH_BUDGET_MS),
        at_once: true,
    },
    Import {
        name: "zod, TypeScript",
        language: "typescript",
        code: "import { z } from 'npm:zod'\nconsole.log(z.number().parse(3))",
        stdout: "3\n",
        budget_ms: Some(ZOD_BUDGET_MS),
        at_once: true,
    },
];

pub(crate) fn run(options: &Options) -> anyhow::Result<ExitCode> {
    server::build()?;
    let mut report = Report::new();
    for import in IMPORTS {
        let mut client = Client::start(&options.cache)?;
        client.initialize()?;
        let first = timed(&mut client, import)?;
        report.note(&format!("{}: first call", import.name), first.as_secs_f64() * 1e3)?;
        for (what, pause) in [("again", options.pause), ("again at once", 0)] {
            let mut timings = Timings::default();
            // In the first of them memory that runs share is still being touched for the first time.
            let rounds = if pause == 0 && import.at_once { options.rounds * 10 } else { options.rounds };
            for _ in 0..rounds {
                std::thread::sleep(Duration::from_millis(pause));
                timings.push(timed(&mut client, import)?);
            }
            let name = format!("{}: {what}", import.name);
            match import.budget_ms {
                Some(budget) if (pause == 0) == import.at_once => report.line(&name, timings.median(), budget)?,
                _ => report.note(&name, timings.median())?,
            }
        }
        client.end()?;
    }
    Ok(report.verdict())
}

fn timed(client: &mut Client, import: &Import) -> anyhow::Result<Duration> {
    let started = Instant::now();
    client.run(import.language, import.code)?.printed(import.stdout)?;
    Ok(started.elapsed())
}
