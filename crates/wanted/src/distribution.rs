use std::borrow::Cow;
use std::sync::LazyLock;

#[cfg(test)]
mod tests;

/// The distribution to ask an index for when a program imports `module`: a known one, or the name of the module itself.
///
/// `None` if there is nothing to ask for: the module is Python's own, or one of those that an index does not have (modules of
/// Windows and of other programs, what programs call their own files), or its name cannot be a distribution's.
pub fn distribution_for(module: &str) -> Option<Cow<'_, str>> {
    let top = top_of(module);
    if is_python_standard(top) {
        return None;
    }
    if let Some(distribution) = distribution_of(module) {
        return Some(Cow::Borrowed(distribution));
    }
    let is_asked_for = is_distribution_name(top) && !NEVER.contains(&top) && !is_namespace(top);
    is_asked_for.then(|| normalise(top))
}

/// The distribution that has `module`, if it is a known one with another name: `cv2` is in `opencv-python-headless`.
/// The longest part of a dotted name counts: `google.cloud.storage.blob` is in `google-cloud-storage`.
pub fn distribution_of(module: &str) -> Option<&'static str> {
    let mut known = Some(module);
    while let Some(prefix) = known {
        if let Ok(at) = DISTRIBUTIONS.binary_search_by_key(&prefix, |(module, _)| module) {
            return DISTRIBUTIONS.get(at).map(|(_, distribution)| *distribution);
        }
        known = prefix.rsplit_once('.').map(|(shorter, _)| shorter);
    }
    None
}

/// Whether a module comes with CPython, or came with one of 3.9 to 3.14: `distutils` is nothing to install.
pub fn is_python_standard(module: &str) -> bool {
    STANDARD.binary_search(&top_of(module)).is_ok()
}

/// Whether a dotted name only holds what many distributions put there.
pub fn is_namespace(module: &str) -> bool {
    NAMESPACES.binary_search(&module).is_ok()
}

/// Whether a text can be the name of a distribution or an extra: letters and digits, with `-`, `_` and `.` between them.
pub(crate) fn is_distribution_name(name: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let is_outer = |end: Option<u8>| end.is_some_and(|byte| byte.is_ascii_alphanumeric());
    name.len() <= MAX_NAME
        && is_outer(name.bytes().next())
        && is_outer(name.bytes().last())
        && name.bytes().all(is_inner)
}

/// A name as indexes know it (PEP 503): lower case, with one `-` for each run of `-`, `_` and `.`.
pub fn normalise(name: &str) -> Cow<'_, str> {
    let is_separator = |character: char| matches!(character, '-' | '_' | '.');
    let is_normal = !name.contains(|character: char| matches!(character, '_' | '.') || character.is_ascii_uppercase());
    if is_normal && !name.contains("--") {
        return Cow::Borrowed(name);
    }
    let words: Vec<String> =
        name.split(is_separator).filter(|word| !word.is_empty()).map(str::to_ascii_lowercase).collect();
    Cow::Owned(words.join("-"))
}

fn top_of(module: &str) -> &str {
    module.split('.').next().unwrap_or(module)
}

/// The longest name that is asked for, in bytes. PyPI has none longer than about 100.
const MAX_NAME: usize = 128;

/// `sys.stdlib_module_names` of CPython 3.10 to 3.13, and what 3.9 had and 3.14 added. One name a line, sorted.
static STANDARD: LazyLock<Vec<&str>> = LazyLock::new(|| include_str!("distribution/standard.txt").lines().collect());

/// `module distribution` a line, sorted, where the distribution is not called as the module's first part.
static DISTRIBUTIONS: LazyLock<Vec<(&str, &str)>> = LazyLock::new(|| {
    include_str!("distribution/distributions.txt").lines().filter_map(|line| line.split_once(' ')).collect()
});

/// Namespaces that distributions share. No distribution has this name, or it is somebody else's.
const NAMESPACES: &[&str] = &[
    "azure",
    "azure.ai",
    "azure.cognitiveservices",
    "azure.data",
    "azure.keyvault",
    "azure.mgmt",
    "azure.monitor",
    "azure.storage",
    "backports",
    "databricks",
    "ecmwf",
    "google",
    "google.ads",
    "google.ai",
    "google.analytics",
    "google.cloud",
    "google.maps",
    "jaraco",
    "odc",
    "orbax",
    "plone",
    "ruamel",
    "snowflake",
    "sphinxcontrib",
    "zope",
];

/// Modules that are not asked for: an index has nothing for them, or something that only shares the name.
#[rustfmt::skip]
const NEVER: &[&str] = &[
    // Windows.
    "commctrl", "dde", "ntsecuritycon", "odbc", "perfmon", "pythoncom", "pythonwin", "pywin", "pywintypes",
    "servicemanager", "sspicon", "timer", "win2kras", "win32", "win32api", "win32clipboard", "win32com", "win32comext",
    "win32con", "win32crypt", "win32event", "win32evtlog", "win32file", "win32gui", "win32job", "win32net", "win32pdh",
    "win32pipe", "win32print", "win32process", "win32security", "win32service", "win32serviceutil", "win32timezone",
    "win32typing", "win32ui", "winerror", "winioctlcon", "winxpgui",
    // macOS.
    "AppKit", "Cocoa", "CoreFoundation", "Foundation", "Quartz", "ScriptingBridge", "objc",
    // Other programs, which have Python inside.
    "FreeCAD", "adsk", "arcpy", "bge", "c4d", "gdb", "gimpfu", "hou", "idaapi", "idautils", "idc", "lldb", "maya",
    "nuke", "pymel", "qgis", "sublime", "sublime_plugin", "unreal", "vim",
    // Python in browsers and on boards.
    "js", "machine", "micropython", "network", "pyodide", "pyodide_js", "uos", "usocket", "utime",
    // Linux distributions.
    "apt", "apt_pkg", "dbus", "dnf", "rpm", "selinux", "yum",
    // What programs call their own files. Whoever has such a name in an index may be waiting for them.
    "app", "apps", "common", "conf", "config", "conftest", "constants", "core", "db", "exceptions", "forms", "handlers",
    "helpers", "lib", "main", "models", "module", "my_module", "my_package", "myapp", "mymodule", "mypackage",
    "project", "routes", "schemas", "serializers", "services", "settings", "solution", "src", "test_utils", "tests",
    "tools", "urls", "util", "utils", "views", "your_module",
];
