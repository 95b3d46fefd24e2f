/// The distributions whose compiled part only makes them faster, by their names in PEP 503's form: without their `.so` files they
/// do the same.
///
/// Each was tried: its newest wheel for CPython 3.13 of November 2026, without its `.so` files, imported and put to use.
pub fn optional_extensions() -> &'static [&'static str] {
    OPTIONAL_EXTENSIONS
}

/// Whether a distribution, by its name in PEP 503's form, is one of [`optional_extensions`].
pub fn has_optional_extension(distribution: &str) -> bool {
    OPTIONAL_EXTENSIONS.binary_search(&distribution).is_ok()
}

const OPTIONAL_EXTENSIONS: &[&str] = &[
    "aiohttp",
    "aiokafka",
    "black",
    "chardet",
    "charset-normalizer",
    "coverage",
    "dulwich",
    "falcon",
    "fastavro",
    "fonttools",
    "frozenlist",
    "google-crc32c",
    "ijson",
    "immutables",
    "isort",
    "lazy-object-proxy",
    "logbook",
    "markupsafe",
    "msgpack",
    "multidict",
    "pendulum",
    "propcache",
    "protobuf",
    "pybase64",
    "pymongo",
    "pytokens",
    "pyyaml",
    "rapidfuzz",
    "simplejson",
    "sqlalchemy",
    "thrift",
    "tomli",
    "tornado",
    "websockets",
    "wrapt",
    "yarl",
    "zope-hookable",
    "zope-i18nmessageid",
    "zope-interface",
    "zope-proxy",
    "zope-security",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_and_of_normal_names() {
        assert!(OPTIONAL_EXTENSIONS.is_sorted_by(|one, next| one < next));
        for name in optional_extensions() {
            assert_eq!(crate::distribution::normalise(name), *name);
            assert!(has_optional_extension(name));
        }
        assert!(!has_optional_extension("numpy") && !has_optional_extension("PyYAML"));
    }
}
