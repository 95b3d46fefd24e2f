//! What a caller may tell a compiler, and which of its files are compiled.

use crate::{PlannedFile, Refusal};

/// Languages whose compilers take arguments, with the file name extensions that they compile and the standards that
/// they know.
const COMPILED: &[(&str, &[&str], &[&str])] = &[
    ("c", &["c"], &["89", "90", "99", "9x", "11", "1x", "17", "18", "2x", "23"]),
    (
        "cpp",
        &["cpp", "cc", "cxx", "c++"],
        &["98", "03", "11", "0x", "14", "1y", "17", "1z", "20", "2a", "23", "2b", "26", "2c"],
    ),
];

/// Allowed exactly as written.
const PLAIN: &[&str] = &[
    "-O",
    "-O0",
    "-O1",
    "-O2",
    "-O3",
    "-Os",
    "-Og",
    "-g",
    "-w",
    "-lm",
    "-pedantic",
    "-pedantic-errors",
    "-pthread",
    "-ffast-math",
    "-fwrapv",
    "-fno-exceptions",
    "-fno-rtti",
    "-fno-strict-aliasing",
    "-funsigned-char",
    "-fsigned-char",
    "-ansi",
];

/// The most arguments.
const MOST: usize = 64;

/// Refuses anything that could reach a file, a program or a plug-in, or that none of our compilers knows.
pub(crate) fn check_arguments(arguments: &[String], language: &crate::Language) -> Result<(), Refusal> {
    let Some(first) = arguments.first() else { return Ok(()) };
    let refused = |message: String, hint: &str| Err(Refusal::new("compiler_args", message, hint));
    let Some((_, _, standards)) = COMPILED.iter().find(|(id, ..)| *id == language.id) else {
        let shown = shown(first);
        return refused(
            format!("`compiler_args` has `{shown}`, and {} takes none", language.name),
            "leave `compiler_args` out; C and C++ take them",
        );
    };
    if arguments.len() > MOST {
        return refused(format!("`compiler_args` are {}, above the limit of {MOST}", arguments.len()), "give fewer");
    }
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        // People write these with a space.
        let next = match argument.as_str() {
            "-l" | "-D" | "-U" => rest.next(),
            _ => None,
        };
        let whole = next.map_or_else(|| argument.clone(), |next| format!("{argument}{next}"));
        if !is_allowed(&whole, language.id, standards) {
            return refused(
                format!("`compiler_args` has `{}`, which is not allowed", shown(&whole)),
                "use -std=…, -O0 to -O3, -lm, -W…, -DNAME=VALUE, -UNAME, -g, -ffast-math, -fwrapv, -fno-exceptions or -fno-rtti",
            );
        }
    }
    Ok(())
}

fn is_allowed(argument: &str, language: &str, standards: &[&str]) -> bool {
    if PLAIN.contains(&argument) {
        return true;
    }
    if let Some(standard) = argument.strip_prefix("-std=") {
        let (c, gnu) = if language == "c" { ("c", "gnu") } else { ("c++", "gnu++") };
        return [c, gnu]
            .iter()
            .any(|family| standard.strip_prefix(family).is_some_and(|year| standards.contains(&year)));
    }
    if let Some(warning) = argument.strip_prefix("-W") {
        // Not `-Wl,…`, `-Wa,…` and `-Wp,…`, which go to other programs.
        return warning.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-=+".contains(&byte));
    }
    let macro_name = argument.strip_prefix("-D").or_else(|| argument.strip_prefix("-U"));
    macro_name.is_some_and(|text| {
        let name = text.split('=').next().unwrap_or_default();
        name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            && !text.contains(['\0', '\n'])
    })
}

fn shown(argument: &str) -> String {
    argument.chars().flat_map(char::escape_debug).take(60).collect()
}

/// The given files that are compiled along with the program: sources in its language that no other file includes.
pub(crate) fn more_sources<'a>(language: &str, code: &[u8], files: &'a [PlannedFile]) -> Vec<&'a PlannedFile> {
    let Some((_, extensions, _)) = COMPILED.iter().find(|(id, ..)| *id == language) else { return Vec::new() };
    let is_source = |file: &&PlannedFile| {
        let extension = file.path.as_str().rsplit_once('.').map(|(_, extension)| extension);
        extension.is_some_and(|extension| extensions.contains(&extension))
    };
    let texts: Vec<&[u8]> = std::iter::once(code).chain(files.iter().map(|file| file.contents.as_slice())).collect();
    let is_included = |file: &&PlannedFile| texts.iter().any(|text| includes(text, file.path.as_str()));
    files.iter().filter(is_source).filter(|file| !is_included(file)).collect()
}

/// Whether a line of the text is `#include "…name"`.
fn includes(text: &[u8], path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path).as_bytes();
    text.split(|byte| *byte == b'\n').any(|line| {
        let line = line.trim_ascii_start();
        line.first() == Some(&b'#')
            && line.windows(7).any(|window| window == b"include")
            && line.split(|byte| *byte == b'"').nth(1).is_some_and(|included| {
                included.strip_suffix(name).is_some_and(|before| before.is_empty() || before.ends_with(b"/"))
            })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Language, WorkspacePath};

    fn check(language: &str, arguments: &[&str]) -> Result<(), String> {
        let arguments: Vec<String> = arguments.iter().map(|argument| (*argument).to_owned()).collect();
        check_arguments(&arguments, Language::find(language).expect("known")).map_err(|refusal| refusal.to_string())
    }

    #[test]
    fn what_is_harmless_is_allowed() {
        for arguments in [
            &["-std=c99", "-O3", "-l", "m", "-lm", "-Wall", "-Wno-unused", "-Werror=format", "-DN=3", "-D", "X", "-UX"]
                [..],
            &["-std=gnu23", "-w", "-g"],
        ] {
            assert_eq!(check("c", arguments), Ok(()));
        }
        assert_eq!(check("cpp", &["-std=c++23", "-std=gnu++17", "-fno-exceptions"]), Ok(()));
        assert_eq!(check("python", &[]), Ok(()));
    }

    #[test]
    fn what_reaches_out_is_not() {
        for argument in [
            "-I/etc",
            "-include/etc/passwd",
            "@file",
            "main.c",
            "-o/tmp/x",
            "-Wl,--export-all",
            "-Wp,-I/",
            "-fplugin=x",
            "-lcrypto",
            "-std=c++17",
            "-std=c0",
            "-B/",
            "-Xclang",
            "-D1",
            "-DX\n",
            "--sysroot=/",
            "-l",
            "",
            "-",
        ] {
            let refused = check("c", &[argument]).expect_err(argument);
            assert!(refused.contains("is not allowed"), "{refused}");
        }
        assert!(check("python", &["-O2"]).expect_err("python").contains("Python takes none"));
        assert!(check("c", &["-g"; 65]).is_err());
    }

    #[test]
    fn sources_are_compiled_unless_they_are_included() {
        let file = |path: &str, text: &str| PlannedFile {
            path: WorkspacePath::new(path).expect("a path"),
            contents: text.as_bytes().to_vec(),
        };
        let files = [
            file("a.c", "# include \"sub/b.c\"\n"),
            file("sub/b.c", ""),
            file("ab.c", ""),
            file("x.cpp", ""),
            file("h.h", "#include \"d.c\""),
            file("d.c", ""),
        ];
        let names = |language| -> Vec<String> {
            let found = more_sources(language, b"int main() {}", &files);
            found.iter().map(|file| file.path.as_str().to_owned()).collect()
        };
        assert_eq!(names("c"), ["a.c", "ab.c"]);
        assert_eq!(names("cpp"), ["x.cpp"]);
        assert!(names("python").is_empty());
    }
}
