//! belljar's face for assistants: the Model Context Protocol over the runtime. The only crate that knows JSON.

mod app;
mod arguments;
pub mod audit;
pub mod fetch;
mod fixtures;
mod hex;
pub mod http;
mod icons;
mod live;
mod malformed;
mod metrics;
mod mirror;
pub mod profiles;
mod prompts;
mod recording;
mod resources;
mod result;
mod room;
mod runs;
mod saved;
mod server;
mod stdio;
mod tasks;
mod teller;
mod tools;
mod uri;
mod witness;

pub use result::RunResult;
pub use server::{Connection, Server, Watch};
pub use stdio::{StdioError, serve as serve_stdio, serve_streams};
pub use tools::all as tools;
