//! Which packages a program wants: the requirements that callers name, the imports that the code makes, and the metadata that a
//! script carries.
//!
//! All of it reads text that nobody has vetted, so: no I/O, no recursion, and time linear in the text. What is wanted is only a
//! wish. Whether it may be installed is decided elsewhere.

mod cursor;
mod distribution;
mod excerpt;
mod found;
mod javascript;
mod metadata;
mod npm;
mod optional;
mod python;
mod requirement;

pub use distribution::{distribution_for, distribution_of, is_namespace, is_python_standard, normalise};
pub use excerpt::Excerpt;
pub use javascript::{javascript_imports, npm_package_of, with_bare_packages};
pub use metadata::{MetadataError, ScriptMetadata, python_satisfies, script_metadata};
pub use npm::{NpmError, NpmSpec};
pub use optional::{has_optional_extension, optional_extensions};
pub use python::python_imports;
pub use requirement::{Requirement, RequirementError};
