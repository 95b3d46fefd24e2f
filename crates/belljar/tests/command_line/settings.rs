//! Flags, then the environment, then the configuration file, then defaults.

use testkit::conformance::command::{Answer, Belljar, answer};

use super::belljar;

/// The sample of the reference.
const SAMPLE: &str =
    "require = \"full\"\n\n[limits]\nmemory = \"1GiB\"\ntimeout = \"60s\"\n\n[defaults]\ntimeout = \"5s\"\n";

/// What a refusal tells of the limits in force.
fn told(belljar: &Belljar, options: &[&str], variables: &[(&str, &str)]) -> String {
    let mut command = belljar.command(["run", "-l", "bash", "-c", ":"]);
    command.args(options).envs(variables.iter().copied());
    let given = answer(command, b"");
    assert_eq!((given.code, given.text()), (Some(125), ""), "{given:?}");
    given.stderr
}

#[test]
fn the_file_sets_ceilings_and_defaults() {
    let belljar = belljar();
    belljar.write("belljar.toml", SAMPLE);
    assert_eq!(
        told(&belljar, &["--config", "belljar.toml", "--timeout", "0s"], &[]),
        "error: `timeout` of 0 s is below the least that can work, 1 ms\n\n\
         hint: ask for 1 ms to 60 s, or leave `timeout` out for 5 s\n"
    );
    assert_eq!(
        told(&belljar, &["--config", "belljar.toml", "--memory", "1100MiB"], &[]),
        "error: `memory` of 1.0 GiB is above this server's ceiling of 1 GiB\n\n\
         hint: ask for at most 1 GiB, or raise `limits.memory` in the server's configuration\n"
    );
}

#[test]
fn a_default_applies_and_a_flag_wins_over_it() {
    let belljar = belljar();
    belljar.write("belljar.toml", "[defaults]\ntimeout = \"300ms\"\n");
    let nap = ["run", "-l", "bash", "-c", "sleep 1; echo awake", "--config", "belljar.toml"];
    assert_eq!(belljar.answer(nap), Answer::new(124, "", "belljar: timed out after 0.3 s\n"));
    let with_flag = nap.into_iter().chain(["--timeout", "20s"]);
    assert_eq!(belljar.answer(with_flag), Answer::new(0, "awake\n", ""));
}

#[test]
fn the_file_grants_and_flags_are_meant_instead() {
    let belljar = belljar();
    belljar.write("data/given", "given\n");
    belljar.write("other/given", "other\n");
    let data = std::fs::canonicalize(belljar.directory().join("data")).expect("it is there");
    let text = "mounts = [\"data:/data\"]\n[network]\nallow = [\"*.example.org\"]\nalways = [\"example.org\"]\n";
    belljar.write("belljar.toml", text);
    let doctor = belljar.answer(["doctor", "--json", "--config", "belljar.toml"]);
    let report: serde_json::Value = serde_json::from_slice(&doctor.stdout).expect("JSON");
    let folder = format!("folder /data ro, which is {}", data.display());
    let hosts = ["network example.org", "network *.example.org, for callers that ask for it"];
    assert_eq!(report["granted"], serde_json::json!([hosts[0], hosts[1], folder]));
    belljar.write("belljar.toml", "mounts = [\"data:/data\"]\n");
    let read = ["run", "-l", "bash", "-c", "cat /data/given", "--config", "belljar.toml"];
    assert_eq!(belljar.answer(read), Answer::new(0, "given\n", ""));
    let with_flag = read.into_iter().chain(["--mount", "other:/data"]);
    assert_eq!(belljar.answer(with_flag), Answer::new(0, "other\n", ""));
    for (text, message) in [
        ("mounts = [\"gone:/data\"]", "`gone` cannot be shown to runs: No such file or directory (os error 2)"),
        ("[network]\nallow = [\"10.0.0.1\"]", "`10.0.0.1` is not a host name that can be granted"),
    ] {
        belljar.write("belljar.toml", text);
        let said = told(&belljar, &["--config", "belljar.toml"], &[]);
        assert!(said.starts_with(&format!("error: {message}\n")), "{said}");
    }
}

#[test]
fn the_file_is_found_by_flag_then_variable_then_configuration_folder_then_home() {
    let belljar = belljar();
    let ceiling = |seconds: u32| format!("[limits]\ntimeout = \"{seconds}s\"\n");
    belljar.write("flag.toml", ceiling(31));
    belljar.write("variable.toml", ceiling(32));
    belljar.write("folder/belljar/belljar.toml", ceiling(33));
    belljar.write(".config/belljar/belljar.toml", ceiling(34));
    let variable = ("BELLJAR_CONFIG", "variable.toml");
    let folder = ("XDG_CONFIG_HOME", "folder");
    for (options, variables, seconds) in [
        (&["--config", "flag.toml"][..], &[variable, folder][..], 31),
        (&[], &[variable, folder], 32),
        (&[], &[folder], 33),
        (&[], &[], 34),
    ] {
        let options = [options, &["--timeout", "299s"]].concat();
        assert_eq!(
            told(&belljar, &options, variables),
            format!(
                "error: `timeout` of 299 s is above this server's ceiling of {seconds} s\n\n\
                 hint: ask for at most {seconds} s, or raise `limits.timeout` in the server's configuration\n"
            )
        );
    }
}

#[test]
fn the_required_level_is_the_flags_then_the_variables_then_the_files() {
    let belljar = belljar();
    belljar.write("belljar.toml", "require = \"landlock\"\n");
    let required = |options: &[&str], variables: &[(&str, &str)]| {
        let mut command = belljar.command(["doctor", "--json"]);
        command.args(options).envs(variables.iter().copied());
        let report: serde_json::Value = serde_json::from_slice(&answer(command, b"").stdout).expect("JSON");
        report["required"].as_str().expect("text").to_owned()
    };
    let (full, landlock) = (("BELLJAR_REQUIRE", "full"), ("BELLJAR_REQUIRE", "landlock"));
    assert_eq!(required(&[], &[]), "full");
    assert_eq!(required(&["--config", "belljar.toml"], &[]), "landlock");
    assert_eq!(required(&["--config", "belljar.toml"], &[full]), "full");
    assert_eq!(required(&["--config", "belljar.toml", "--require", "landlock"], &[full]), "landlock");
    assert_eq!(required(&["--require", "full"], &[landlock]), "full");
}

#[test]
fn a_mistake_in_the_file_is_told() {
    for (text, message) in [
        ("requires = \"full\"", "the configuration `belljar.toml` is not valid"),
        ("[limits]\nmemory = 5", "the configuration `belljar.toml` is not valid"),
        ("[limits]\nmemory = \"lots\"", "in `limits` of the configuration"),
        ("[defaults]\ntimeout = \"soon\"", "in `defaults` of the configuration"),
        ("require = \"none\"", "`none` is no isolation level that can be required; use `full` or `landlock`"),
    ] {
        let belljar = belljar();
        belljar.write("belljar.toml", text);
        let stderr = told(&belljar, &["--config", "belljar.toml"], &[]);
        assert!(stderr.starts_with(&format!("error: {message}\n")), "{text}: {stderr}");
    }
}
