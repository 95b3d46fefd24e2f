//! Tests through the functions that a guest calls, unless a test says otherwise.

mod arguments;
mod directories;
mod disk;
mod guest;
mod hostile;
mod io;
mod limits;
mod model;
mod open;
mod paths;
mod poll;
mod speed;
mod trees;
mod workspace;
