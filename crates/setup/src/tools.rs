//! Tools: programs of others that belljar uses, got by package name and pinned hash as runtimes are. A tool is its recipe's result as it is.

use std::path::PathBuf;
use std::time::Duration;

use sandbox::Bytes;

use crate::Setup;
use crate::catalogue::Runtime;
use crate::error::{Failure, SetupError};
use crate::event::{Cancel, Event, How, Reporter};
use crate::layout::Layout;
use crate::lock::Lock;
use crate::provision::{kept, purpose};

/// All tools.
pub static TOOLS: &[Runtime] = &[
    Runtime {
        name: "uv",
        title: "uv (Python packages)",
        languages: &[],
        upon: &["toolchain", "tool"],
        takes: Duration::from_secs(5),
        size: Bytes::mib(60),
        scratch: Bytes::mib(100),
    },
    Runtime {
        name: "deno",
        title: "Deno (npm packages, native TypeScript)",
        languages: &[],
        upon: &["toolchain", "tool"],
        takes: Duration::from_secs(10),
        size: Bytes::mib(100),
        scratch: Bytes::mib(250),
    },
];

/// The tool of that name.
pub fn tool(name: &str) -> Option<&'static Runtime> {
    TOOLS.iter().find(|tool| tool.name == name)
}

pub(crate) fn is_tool(runtime: &Runtime) -> bool {
    tool(runtime.name).is_some()
}

/// Where a tool's program is, below its folder.
pub(crate) fn program(runtime: &Runtime) -> PathBuf {
    PathBuf::from("bin").join(runtime.name)
}

/// A tool that is here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tool {
    /// Which one.
    pub name: &'static str,
    /// Its version.
    pub version: String,
    /// Its folder, which holds nothing else.
    pub home: PathBuf,
    /// The program in it.
    pub program: PathBuf,
}

impl Setup {
    /// A tool, if it is here.
    pub fn find_tool(&self, runtime: &'static Runtime) -> Option<Tool> {
        let layout = Layout::find(&self.root).ok()??;
        self.tool_in(&layout, runtime).ok()?
    }

    /// Where a tool is, or will be once it is got.
    pub fn tool_home(&self, runtime: &'static Runtime) -> Option<PathBuf> {
        let root = std::fs::canonicalize(&self.root).ok()?;
        Some(root.join("built").join(runtime.name).join(self.recipes.key(runtime).name()))
    }

    /// A tool, which is got if it is not here.
    pub fn provide_tool(
        &self,
        runtime: &'static Runtime,
        cancel: &Cancel,
        events: &mut dyn FnMut(Event),
    ) -> Result<Tool, Failure> {
        let name = runtime.name;
        let start = std::time::Instant::now();
        events(Event::Started { name });
        match self.get_tool(runtime, cancel, &mut Reporter { name, events }) {
            Ok((tool, how)) => {
                events(Event::Done { name, version: tool.version.clone(), how, took: start.elapsed() });
                Ok(tool)
            }
            Err(error) => {
                let failure = Failure::of(&error);
                events(Event::Failed { name, failure: failure.clone() });
                Err(failure)
            }
        }
    }

    fn get_tool(
        &self,
        runtime: &'static Runtime,
        cancel: &Cancel,
        reporter: &mut Reporter<'_>,
    ) -> Result<(Tool, How), SetupError> {
        cancel.check()?;
        let layout = Layout::prepare(&self.root)?;
        if let Some(tool) = self.tool_in(&layout, runtime)? {
            return Ok((tool, How::Found));
        }
        let _lock = Lock::take(&layout.lock(runtime.name), &purpose(runtime), cancel, reporter)?;
        // The holder before us may have got it; `build` looks.
        self.build(&layout, runtime, cancel, reporter)?;
        let tool = self.tool_in(&layout, runtime)?.ok_or(SetupError::FinishResult { what: runtime.name })?;
        Ok((tool, How::Built))
    }

    fn tool_in(&self, layout: &Layout, runtime: &'static Runtime) -> Result<Option<Tool>, SetupError> {
        let home = layout.built(runtime).join(self.recipes.key(runtime).name());
        let facts = kept(runtime, &home)?;
        let found = |version| Tool { name: runtime.name, version, program: home.join(program(runtime)), home };
        Ok(facts.map(|facts| found(facts.version)))
    }
}
