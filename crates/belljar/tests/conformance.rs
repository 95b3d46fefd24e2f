//! The conformance suite against the engines of the built binary. What is checked, and what must come back, is in
//! `testkit::conformance`.

use testkit::conformance::cases::{self, Topic};
use testkit::conformance::{Engine, Subject, languages, scenes};

const BELLJAR: &str = env!("CARGO_BIN_EXE_belljar");

const NATIVE: Subject = Subject { belljar: BELLJAR, engine: Engine::Native };
const WASM: Subject = Subject { belljar: BELLJAR, engine: Engine::Wasm };

/// `topic: Topic::Value;` makes `topic::python` and its siblings, and `topic::wasm::python` where WebAssembly has the language.
macro_rules! cases {
    ($($name:ident: $topic:expr;)+) => {
        $(mod $name {
            use super::*;

            #[test]
            fn python() {
                cases::hold(&NATIVE, $topic, "python");
            }

            #[test]
            fn javascript() {
                cases::hold(&NATIVE, $topic, "javascript");
            }

            #[test]
            fn bash() {
                cases::hold(&NATIVE, $topic, "bash");
            }

            #[test]
            fn c() {
                cases::hold(&NATIVE, $topic, "c");
            }

            mod wasm {
                use super::*;

                #[test]
                fn python() {
                    cases::hold(&WASM, $topic, "python");
                }

                #[test]
                fn javascript() {
                    cases::hold(&WASM, $topic, "javascript");
                }

                #[test]
                fn c() {
                    cases::hold(&WASM, $topic, "c");
                }
            }
        })+
    };
}

/// A test for each language, named after it. The table in `testkit` has a row for every language that belljar knows;
/// here is a test for every row.
macro_rules! languages {
    ($($language:ident)+) => {
        mod language {
            use super::*;

            $(#[test]
            fn $language() {
                languages::hold(&NATIVE, stringify!($language));
            })+

            mod wasm {
                use super::*;

                #[test]
                fn python() {
                    languages::hold(&WASM, "python");
                }

                #[test]
                fn javascript() {
                    languages::hold(&WASM, "javascript");
                }

                #[test]
                fn typescript() {
                    languages::hold(&WASM, "typescript");
                }

                #[test]
                fn ruby() {
                    languages::hold(&WASM, "ruby");
                }

                #[test]
                fn php() {
                    languages::hold(&WASM, "php");
                }

                #[test]
                fn lua() {
                    languages::hold(&WASM, "lua");
                }

                #[test]
                fn sql() {
                    languages::hold(&WASM, "sql");
                }

                #[test]
                fn c() {
                    languages::hold(&WASM, "c");
                }

                #[test]
                fn cpp() {
                    languages::hold(&WASM, "cpp");
                }
            }
        }

        #[test]
        fn every_language_has_its_test() {
            let known: Vec<&str> = sandbox::Language::all().iter().map(|language| language.id).collect();
            assert_eq!([$(stringify!($language)),+].as_slice(), known);
        }
    };
}

/// A test for each scene and engine, named after both.
macro_rules! scenes {
    ($($scene:ident)+; with processes: $($native:ident)+) => {
        mod scene {
            use super::*;

            $(#[test]
            fn $scene() {
                scenes::$scene(&NATIVE);
            })+

            $(#[test]
            fn $native() {
                scenes::$native(&NATIVE);
            })+

            mod wasm {
                use super::*;

                $(#[test]
                fn $scene() {
                    scenes::$scene(&WASM);
                })+
            }
        }
    };
}

cases! {
    programs: Topic::Programs;
    streams: Topic::Streams;
    files: Topic::Files;
    limits: Topic::Limits;
    endings: Topic::Endings;
}

/// A language's own table, natively and in WebAssembly.
macro_rules! own_cases {
    ($($language:ident: $topic:expr;)+) => {
        mod own {
            use super::*;

            $(mod $language {
                use super::*;

                #[test]
                fn native() {
                    cases::hold(&NATIVE, $topic, stringify!($language));
                }

                #[test]
                fn wasm() {
                    cases::hold(&WASM, $topic, stringify!($language));
                }
            })+
        }
    };
}

own_cases! {
    c: Topic::C;
    cpp: Topic::Cpp;
    lua: Topic::Lua;
    sql: Topic::Sql;
    ruby: Topic::Ruby;
    php: Topic::Php;
}

#[test]
fn new_cpp() {
    cases::hold(&WASM, Topic::NewCpp, "cpp");
}

scenes! {
    runs_share_nothing
    parallel_runs_are_apart
    output_is_whole_under_load
    base_environment
    usage
    memory_limit
    shape_of_the_result
    runtime_and_isolation;
    with processes:
    usage_of_children
}

languages! {
    python javascript typescript bash sh c cpp rust go java csharp kotlin ruby php perl lua sql r julia swift scala
    groovy clojure fsharp dart haskell ocaml elixir erlang racket scheme lisp nim crystal zig d v kit fortran pascal
    raku tcl awk powershell coffeescript octave sass scss
}
