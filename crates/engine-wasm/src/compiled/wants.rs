//! What a program wants that WebAssembly lacks, or has in another form than the machine. It is read from the program's
//! text: a guess, but a wrong one costs no more than another engine.

use std::iter;

use sandbox::Plan;

/// The most text that is looked at, of a program and its files together: whoever looks is a thread that others wait for.
const MOST_READ: usize = 2 << 20;

/// Functions, when they are called, and headers, when they are included.
struct Lack {
    calls: &'static [&'static str],
    headers: &'static [&'static str],
    reason: &'static str,
}

const THREADS: &str = "it uses threads, which WebAssembly does not have";

const LACKS: &[Lack] = &[
    Lack {
        calls: &["pthread_create", "thrd_create"],
        headers: &["thread", "future", "barrier", "latch", "semaphore", "stop_token", "omp.h", "semaphore.h"],
        reason: THREADS,
    },
    Lack {
        calls: &[
            "system",
            "popen",
            "fork",
            "vfork",
            "execl",
            "execlp",
            "execv",
            "execve",
            "execvp",
            "posix_spawn",
            "waitpid",
        ],
        headers: &["sys/wait.h", "spawn.h"],
        reason: "it starts processes, which WebAssembly does not have",
    },
    Lack {
        calls: &["socket", "getaddrinfo", "gethostbyname"],
        headers: &["sys/socket.h", "netinet/in.h", "arpa/inet.h", "netdb.h"],
        reason: "it uses sockets, which WebAssembly does not have",
    },
    Lack {
        calls: &["sigaction", "alarm", "setitimer", "sigprocmask", "kill", "pause"],
        headers: &[],
        reason: "it waits for signals, which WebAssembly does not have",
    },
    Lack {
        calls: &[
            "pipe",
            "mkfifo",
            "dlopen",
            "shmget",
            "epoll_create",
            "inotify_init",
            "getrusage",
            "swapcontext",
            "tmpfile",
            "mkstemp",
        ],
        headers: &[
            "sys/epoll.h",
            "sys/inotify.h",
            "sys/shm.h",
            "sys/ipc.h",
            "sys/sem.h",
            "mqueue.h",
            "termios.h",
            "pwd.h",
            "grp.h",
            "ucontext.h",
            "execinfo.h",
            "sys/prctl.h",
            "sys/ptrace.h",
            "linux/futex.h",
            "sys/syscall.h",
            "sys/utsname.h",
            "malloc.h",
        ],
        reason: "it uses a part of Linux that WebAssembly does not have",
    },
    Lack {
        calls: &["asm", "__asm__", "__asm"],
        headers: &["immintrin.h", "emmintrin.h", "xmmintrin.h", "smmintrin.h", "x86intrin.h", "arm_neon.h", "cpuid.h"],
        reason: "it uses instructions of the machine's own processor",
    },
];

/// Words that mean something else where pointers have 32 bits.
const OTHERWISE: &[&str] = &[
    "LONG_MAX",
    "LONG_MIN",
    "ULONG_MAX",
    "SIZE_MAX",
    "SSIZE_MAX",
    "PTRDIFF_MAX",
    "INTPTR_MAX",
    "UINTPTR_MAX",
    "uintptr_t",
    "intptr_t",
];

/// What a program wants.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wants {
    cannot: Option<&'static str>,
    otherwise: Option<&'static str>,
}

impl Wants {
    /// Reads the program and its files.
    pub(crate) fn of(plan: &Plan) -> Self {
        let files = plan.files().iter().filter(|file| {
            let extension = file.path.as_str().rsplit_once('.').map(|(_, extension)| extension);
            extension.is_some_and(|extension| ["c", "h", "cc", "hh", "cpp", "hpp", "cxx", "inl"].contains(&extension))
        });
        let mut wants = Self::default();
        let mut room = MOST_READ;
        for text in iter::once(plan.code()).chain(files.map(|file| &*file.contents)) {
            let (looked_at, beyond) = text.split_at(text.len().min(room));
            wants.read(looked_at);
            room -= looked_at.len();
            if !beyond.is_empty() {
                let reason = "it is too long to be looked through for what WebAssembly does not have";
                wants.otherwise = wants.otherwise.or(Some(reason));
            }
        }
        wants
    }

    /// Why it cannot run in WebAssembly.
    pub(crate) fn cannot(self) -> Option<&'static str> {
        self.cannot
    }

    /// Why another engine is better.
    pub(crate) fn another(self) -> Option<&'static str> {
        self.cannot.or(self.otherwise)
    }

    fn read(&mut self, text: &[u8]) {
        let mut words = Words::new(text).peekable();
        let mut before = None;
        while let Some(word) = words.next() {
            let after = words.peek().copied();
            match word {
                Word::Name(b"thread" | b"jthread" | b"async") if before == Some(Word::Other(b':')) => {
                    self.cannot = self.cannot.or(Some(THREADS));
                }
                Word::Header(name) => {
                    let lack = LACKS.iter().find(|lack| lack.headers.iter().any(|header| header.as_bytes() == name));
                    self.cannot = self.cannot.or(lack.map(|lack| lack.reason));
                }
                Word::Name(name) if after == Some(Word::Other(b'(')) => {
                    let lack = LACKS.iter().find(|lack| lack.calls.iter().any(|call| call.as_bytes() == name));
                    // A method of that name is the program's own.
                    let own = matches!(before, Some(Word::Other(b'.' | b'>')));
                    self.cannot = self.cannot.or(lack.filter(|_| !own).map(|lack| lack.reason));
                }
                Word::Name(b"long") if ![before, after].contains(&Some(word)) => {
                    let reason = "its `long` would have 32 bits in WebAssembly, and has 64 here";
                    self.otherwise = self.otherwise.or(Some(reason));
                }
                Word::Name(name) if OTHERWISE.iter().any(|word| word.as_bytes() == name) => {
                    let reason = "it depends on the size of pointers, which is 32 bits in WebAssembly";
                    self.otherwise = self.otherwise.or(Some(reason));
                }
                Word::Name(_) | Word::Other(_) => {}
            }
            before = Some(word);
        }
    }
}

/// Whether a file of the program's has `using namespace`, or there is too much of them to look.
pub(super) fn uses_namespaces(plan: &Plan) -> bool {
    let texts = || iter::once(plan.code()).chain(plan.files().iter().map(|file| &*file.contents));
    let uses = |text| {
        let mut before = None;
        Words::new(text)
            .any(|word| matches!((before.replace(word), word), (Some(Word::Name(b"using")), Word::Name(b"namespace"))))
    };
    texts().map(<[u8]>::len).sum::<usize>() > MOST_READ || texts().any(uses)
}

/// The headers that a text includes before anything else: what comes before them could change what they mean.
pub(super) fn first_headers(text: &[u8]) -> Vec<&[u8]> {
    let headers = Words::new(text).map_while(|word| match word {
        Word::Header(name) => Some(name),
        Word::Name(_) | Word::Other(_) => None,
    });
    headers.collect()
}

/// What the compiler or the linker reports as missing and might exist elsewhere: a header or a function of the
/// system's.
pub(super) fn missing_in(said: &str) -> Option<String> {
    for line in said.lines() {
        if let Some((_, rest)) = line.split_once("fatal error: '")
            && let Some((header, _)) = rest.split_once("' file not found")
        {
            return Some(format!("there is no `{header}` in WebAssembly"));
        }
        if let Some((_, symbol)) = line.split_once("undefined symbol: ")
            && LACKS.iter().any(|lack| lack.calls.contains(&symbol))
        {
            return Some(format!("there is no `{symbol}` in WebAssembly"));
        }
        if let Some((_, symbol)) = line.split_once("function signature mismatch: ") {
            return Some(format!(
                "`{symbol}` is called as another type of function than it is, which WebAssembly does not do"
            ));
        }
        // Headers include others; which ones is up to the library.
        if let Some((_, rest)) = line.split_once("error: reference to '")
            && let Some((name, _)) = rest.split_once("' is ambiguous")
        {
            return Some(format!("the headers of WebAssembly's C++ have a `{name}` of their own"));
        }
        if line.contains("No space left on device") {
            return Some("its static data is too large to be compiled for WebAssembly".to_owned());
        }
        if line.contains("-exceptions' to enable") || line.contains("with exceptions disabled") {
            return Some("C++ exceptions were turned off".to_owned());
        }
    }
    None
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Word<'a> {
    /// An identifier, a keyword or a number.
    Name(&'a [u8]),
    /// What `#include <…>` names.
    Header(&'a [u8]),
    Other(u8),
}

/// The words of a C or C++ text, without comments, white space and what is quoted.
struct Words<'a> {
    rest: &'a [u8],
    line_starts: bool,
}

impl<'a> Words<'a> {
    fn new(text: &'a [u8]) -> Self {
        Self { rest: text, line_starts: true }
    }

    fn take(&mut self, count: usize) -> &'a [u8] {
        let (taken, rest) = self.rest.split_at(count.min(self.rest.len()));
        self.rest = rest;
        taken
    }

    fn skip_past(&mut self, end: &[u8]) {
        let place = self.rest.windows(end.len()).position(|window| window == end);
        self.take(place.map_or(self.rest.len(), |place| place + end.len()));
    }

    fn skip_quoted(&mut self, quote: u8) {
        self.take(1);
        while let Some(byte) = self.rest.first().copied() {
            self.take(if byte == b'\\' { 2 } else { 1 });
            if byte == quote || byte == b'\n' {
                return;
            }
        }
    }

    /// After a `#` that begins a line.
    fn header(&mut self) -> Option<&'a [u8]> {
        let line = self.rest.split(|byte| *byte == b'\n').next().unwrap_or_default().trim_ascii_start();
        let name = line.strip_prefix(b"include")?.trim_ascii_start().strip_prefix(b"<")?;
        let end = name.iter().position(|byte| *byte == b'>')?;
        self.skip_past(b">");
        name.get(..end)
    }
}

impl<'a> Iterator for Words<'a> {
    type Item = Word<'a>;

    fn next(&mut self) -> Option<Word<'a>> {
        loop {
            let byte = *self.rest.first()?;
            match byte {
                b'\n' => {
                    self.take(1);
                    self.line_starts = true;
                }
                _ if byte.is_ascii_whitespace() => {
                    self.take(1);
                }
                b'/' if self.rest.starts_with(b"//") => {
                    self.skip_past(b"\n");
                    self.line_starts = true;
                }
                b'/' if self.rest.starts_with(b"/*") => {
                    self.take(2);
                    self.skip_past(b"*/");
                }
                b'"' | b'\'' => self.skip_quoted(byte),
                b'#' if std::mem::take(&mut self.line_starts) => {
                    self.take(1);
                    if let Some(header) = self.header() {
                        return Some(Word::Header(header));
                    }
                }
                _ => {
                    self.line_starts = false;
                    // In a number, a quote stands between digits.
                    let quotes = byte.is_ascii_digit();
                    let is_name =
                        |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_' || (quotes && *byte == b'\'');
                    let length = self.rest.iter().take_while(|byte| is_name(byte)).count();
                    return Some(if length > 0 {
                        Word::Name(self.take(length))
                    } else {
                        self.take(1);
                        Word::Other(byte)
                    });
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use sandbox::{InputFile, Policy, Request};

    use super::*;

    fn wants(text: &str) -> Wants {
        let mut wants = Wants::default();
        wants.read(text.as_bytes());
        wants
    }

    #[test]
    fn what_is_not_there_is_found() {
        for (text, word) in [
            ("#include <thread>\n", "threads"),
            ("  #  include   <sys/socket.h>", "sockets"),
            ("int main() { return system(\"ls\"); }", "processes"),
            ("std::system (\"ls\")", "processes"),
            ("__asm__(\"nop\");", "processor"),
            ("alarm(1);", "signals"),
            ("#include <iostream> // for cout\n#include <thread> // x", "threads"),
            ("int x = 1'000; #include\n std::thread t;", "threads"),
            ("#include <bits/stdc++.h>\nauto f = std::async(g);", "threads"),
        ] {
            let found = wants(text).cannot().unwrap_or_else(|| panic!("{text}"));
            assert!(found.contains(word), "{text}: {found}");
        }
    }

    #[test]
    fn what_looks_like_it_is_not() {
        for text in [
            "// #include <thread>\n/* system(1) */ char *a = \"system(1) \\\" fork()\"; int c = 'l';",
            "int thread; int system = 1; x.fork(); p->socket(1); ecosystem(2);",
            "#include \"thread\"\n#include <stdio.h>\nlong long a; unsigned long long b; long long int c;",
            "int belong; long_name(); \"long\"; // long\n",
        ] {
            assert_eq!(wants(text), Wants::default(), "{text}");
        }
    }

    #[test]
    fn what_is_otherwise_is_found() {
        for text in [
            "long x;",
            "unsigned long x",
            "long double d;",
            "a = LONG_MAX;",
            "uintptr_t p;",
            "long int y;\nlong long z;",
        ] {
            assert!(wants(text).another().is_some(), "{text}");
            assert!(wants(text).cannot().is_none(), "{text}");
        }
    }

    #[test]
    fn what_is_too_long_is_for_another_engine() {
        let plan = |length: usize, name: &str| {
            let file = InputFile { path: name.into(), contents: vec![b';'; length] };
            let (code, language) = ("int main() {}".into(), Some("cpp".to_owned()));
            let request = Request { code, language, files: vec![file], ..Request::default() };
            Policy::default().admit(request).expect("admitted")
        };
        let short = plan(MOST_READ / 2, "a.h");
        assert_eq!((Wants::of(&short), uses_namespaces(&short)), (Wants::default(), false));
        let long = plan(MOST_READ, "a.h");
        assert!(Wants::of(&long).another().is_some() && Wants::of(&long).cannot().is_none() && uses_namespaces(&long));
        // Any file can be included, whatever it is called.
        let data = plan(MOST_READ, "a.txt");
        assert_eq!((Wants::of(&data), uses_namespaces(&data)), (Wants::default(), true));
    }

    #[test]
    fn the_tools_words_are_read() {
        assert_eq!(
            missing_in("/box/main.c:1:10: fatal error: 'curl/curl.h' file not found\n").as_deref(),
            Some("there is no `curl/curl.h` in WebAssembly")
        );
        assert_eq!(
            missing_in("wasm-ld: error: /box/0.o: undefined symbol: fork\n").as_deref(),
            Some("there is no `fork` in WebAssembly")
        );
        assert!(
            missing_in("wasm-ld: error: function signature mismatch: main\n>>> …")
                .is_some_and(|why| why.contains("`main`"))
        );
        assert_eq!(missing_in("wasm-ld: error: /box/0.o: undefined symbol: my_function\n"), None);
    }
}
