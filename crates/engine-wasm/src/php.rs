//! PHP: a command of WASI, which is started anew in every instance. What it has to say about a program is what it prints.

use belljar_wasi::End;
use sandbox::{Evidence, Step, diagnose};
use wasmtime::{Instance, Linker, Result, Store, Trap};

use crate::driver::{Driver, Start, TOO_DEEP};
use crate::guest::Guest;
use crate::protocol::{Job, ReportedError};

/// Where the recipe put it.
const SETTINGS: &str = "/usr/lib/php/php.ini";

/// How names of variables start that PHP's CGI takes for a request. The prelude gets them in one other variable.
const OF_A_REQUEST: &[&str] = &[
    "AUTH_",
    "CONTENT_",
    "DOCUMENT_",
    "FCGI_",
    "GATEWAY_",
    "HTTP",
    "ORIG_",
    "PATH_",
    "PHP_FCGI",
    "QUERY_",
    "REDIRECT_",
    "REMOTE_",
    "REQUEST_",
    "SCRIPT_",
    "SERVER_",
];
const HELD: &str = "BELLJAR_HELD";

/// Its exit code after a fatal error.
const FATAL: i32 = 255;

/// The driver.
#[derive(Debug)]
pub(crate) struct Php;

impl Driver for Php {
    fn link(&self, _: &mut Linker<Guest>) -> Result<()> {
        Ok(())
    }

    fn start(&self) -> Start {
        Start::EachTime
    }

    fn initialize(&self, _: &mut Store<Guest>, _: &Instance) -> Result<()> {
        Ok(())
    }

    fn run(&self, store: &mut Store<Guest>, instance: &Instance, job: &Job) -> Result<i32> {
        let wasi = store.data_mut().wasi()?;
        let arguments = ["php", "-q", "-c", SETTINGS, "-f", &job.file, "--"];
        wasi.set_arguments(arguments.into_iter().chain(job.args.iter().map(String::as_str)))?;
        wasi.set_environment(environment(&job.env)?)?;
        // It has no way to duplicate a descriptor, and closes the stream itself where it would close a copy.
        wasi.keep_streams_open();
        wasi.host_mut().keep_stderr();
        // For want of memory it ends in any case, or never does.
        store.data_mut().end_without_memory();
        let ended = instance.get_typed_func::<(), ()>(&mut *store, "_start")?.call(&mut *store, ());
        let stderr = store.data_mut().wasi()?.host_mut().take_stderr();
        let ended = match ended {
            Ok(()) => Ok(0),
            Err(error) => match (error.downcast_ref(), error.downcast_ref()) {
                (Some(End::Exit(code)), _) => Ok(code.cast_signed()),
                // Out of a fatal error it would jump to its own end, which WebAssembly cannot, and aborts.
                (_, Some(Trap::UnreachableCodeReached)) if !store.data().is_interrupted() => Ok(FATAL),
                _ => Err(error),
            },
        };
        match &ended {
            Ok(0) => {}
            Ok(_) => read_error(store.data_mut(), &stderr, &job.file),
            Err(error) => explain(store.data_mut(), error),
        }
        ended
    }
}

/// The variables, and those that are held back.
fn environment(variables: &[(String, String)]) -> Result<Vec<(String, String)>> {
    let is_held = |name: &str| OF_A_REQUEST.iter().any(|start| name.starts_with(start));
    let (held, mut given): (Vec<_>, Vec<_>) = variables.iter().cloned().partition(|(name, _)| is_held(name));
    if !held.is_empty() {
        let held: std::collections::BTreeMap<_, _> = held.into_iter().collect();
        given.push((HELD.to_owned(), serde_json::to_string(&held)?));
    }
    Ok(given)
}

/// What a program that ended with an error said of it.
fn read_error(guest: &mut Guest, stderr: &str, file: &str) {
    let source = file.rsplit('/').next().unwrap_or(file);
    let evidence = Evidence { language: "php", step: Step::Run, stderr, stdout: "", source };
    let Some(error) = diagnose(&evidence) else { return };
    guest.report.unsupported = missing(&error.message).map(|name| format!("`{name}` is not in the WebAssembly PHP"));
    guest.report.error = Some(ReportedError { kind: error.kind, message: error.message, line: error.line });
}

/// Says what PHP could not.
fn explain(guest: &mut Guest, error: &wasmtime::Error) {
    let message = match error.downcast_ref() {
        _ if guest.was_refused_memory() => "Out of memory",
        Some(Trap::StackOverflow | Trap::MemoryOutOfBounds) => {
            guest.report.unsupported = Some(TOO_DEEP.to_owned());
            "Maximum call stack size reached"
        }
        _ => return,
    };
    guest.report.error = Some(ReportedError { kind: "FatalError".to_owned(), message: message.to_owned(), line: None });
}

/// The function or class that a program missed, if it is one that PHP has elsewhere.
fn missing(message: &str) -> Option<&str> {
    if let Some(call) = message.strip_prefix("Call to undefined function ") {
        let name = call.strip_suffix("()")?.rsplit('\\').next()?;
        let known = FUNCTIONS.contains(&name) || FAMILIES.iter().any(|family| name.starts_with(family));
        return known.then_some(name);
    }
    let name = message.strip_prefix("Class \"")?.strip_suffix("\" not found")?;
    CLASSES.contains(&name).then_some(name)
}

/// Functions of extensions that this build is without, by how their names start.
const FAMILIES: &[&str] = &[
    "apcu_",
    "bz",
    "collator_",
    "curl_",
    "datefmt_",
    "deflate_",
    "dns_",
    "exif_",
    "ftp_",
    "gmp_",
    "grapheme_",
    "iconv_",
    "idn_",
    "imap_",
    "inflate_",
    "intl_",
    "ldap_",
    "msg_",
    "mysqli_",
    "normalizer_",
    "numfmt_",
    "odbc_",
    "opcache_",
    "openssl_",
    "pcntl_",
    "pg_",
    "posix_",
    "proc_",
    "readline_",
    "sem_",
    "shm_",
    "shmop_",
    "socket_",
    "sodium_",
    "stream_socket_",
    "yaml_",
    "zip_",
];

/// Functions that it is without, or that cannot work.
const FUNCTIONS: &[&str] = &[
    "bcadd",
    "bccomp",
    "bcdiv",
    "bcmod",
    "bcmul",
    "bcpow",
    "bcpowmod",
    "bcscale",
    "bcsqrt",
    "bcsub",
    "cal_days_in_month",
    "cal_from_jd",
    "cal_to_jd",
    "checkdnsrr",
    "easter_date",
    "easter_days",
    "exec",
    "fnmatch",
    "fsockopen",
    "ftok",
    "gethostbyaddr",
    "gethostbyname",
    "gethostbynamel",
    "gethostname",
    "getmxrr",
    "getprotobyname",
    "getservbyname",
    "getservbyport",
    "gettext",
    "gregoriantojd",
    "gzcompress",
    "gzdecode",
    "gzdeflate",
    "gzencode",
    "gzfile",
    "gzinflate",
    "gzopen",
    "gzuncompress",
    "iconv",
    "jddayofweek",
    "jdtogregorian",
    "juliantojd",
    "mail",
    "net_get_interfaces",
    "ngettext",
    "openlog",
    "passthru",
    "pclose",
    "pfsockopen",
    "popen",
    "readgzfile",
    "readline",
    "shell_exec",
    "syslog",
    "system",
    "zlib_decode",
    "zlib_encode",
];

/// Classes that it is without.
const CLASSES: &[&str] = &[
    "CURLFile",
    "Collator",
    "FFI",
    "GMP",
    "Imagick",
    "IntlCalendar",
    "IntlChar",
    "IntlDateFormatter",
    "Locale",
    "Memcached",
    "MessageFormatter",
    "Normalizer",
    "NumberFormatter",
    "Phar",
    "PharData",
    "Redis",
    "SoapClient",
    "Transliterator",
    "XSLTProcessor",
    "ZipArchive",
    "mysqli",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_build_is_without() {
        for (message, name) in [
            ("Call to undefined function exec()", Some("exec")),
            ("Call to undefined function App\\curl_init()", Some("curl_init")),
            ("Class \"ZipArchive\" not found", Some("ZipArchive")),
            ("Call to undefined function execute()", None),
            ("Call to undefined method A::exec()", None),
            ("Class \"Basket\" not found", None),
        ] {
            assert_eq!(missing(message), name, "{message}");
        }
    }

    #[test]
    fn a_request_is_held_back() {
        let variables = [("HOME", "/tmp"), ("REQUEST_METHOD", "GET"), ("PATH", "/bin")];
        let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let given = environment(&variables).expect("JSON");
        let given: Vec<_> = given.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(given, [("HOME", "/tmp"), ("PATH", "/bin"), (HELD, "{\"REQUEST_METHOD\":\"GET\"}")]);
    }
}
