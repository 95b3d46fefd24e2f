//! PHP: limits, fatal errors, what is not as it is natively. Programs that run the same natively are in `testkit::conformance::cases::php`.

use crate::{Run, WASM};

#[test]
fn nothing_outlasts_its_deadline() {
    if !WASM.serves("php") {
        return;
    }
    for code in [
        "<?php while (true);",
        "<?php sleep(10);",
        "<?php usleep(10_000_000);",
        "<?php for (;;) { try { throw new Exception; } catch (Exception) { } }",
        "<?php ini_set('pcre.backtrack_limit', '2000000000'); preg_match('/(a+)+$/', str_repeat('a', 40) . 'b');",
        "<?php register_shutdown_function(function () { while (true); });",
        "<?php class Late { function __destruct() { while (true); } }\n$late = new Late;",
        "<?php for (;;) random_bytes(1 << 20);",
        "<?php for (;;) { touch('x'); unlink('x'); }",
        "<?php set_time_limit(1); while (true);",
    ] {
        let ran = Run::wasm("php", code).options(&["--timeout", "500ms"]).ran();
        assert_eq!((ran.code, ran.text("status")), (Some(124), "timed_out"), "{code}: {:#}", ran.result);
    }
}

#[test]
fn memory() {
    if !WASM.serves("php") {
        return;
    }
    let options = &["--memory", "64MiB"];
    for code in [
        "<?php $held = str_repeat('x', 200 << 20);",
        "<?php while (true) $held[] = str_repeat('x', 1 << 20);",
        "<?php while (true) $held[] = new stdClass;",
        "<?php $held = 'x'; while (true) $held .= $held;",
        "<?php function f($n) { return f($n + 1); }\nf(0);",
        "<?php ini_set('memory_limit', '4G'); while (true) $held[] = range(1, 10_000);",
    ] {
        let ran = Run::wasm("php", code).options(options).ran();
        let seen = (ran.code, ran.text("status"), ran.result["limit"].as_str());
        assert_eq!(seen, (Some(137), "limit_exceeded", Some("memory")), "{code}: {:#}", ran.result);
        let message = ran.result["error"]["message"].as_str().unwrap_or_default();
        assert!(message.starts_with("Out of memory"), "{code}: {message}");
    }
    // W22
    Run::wasm("php", "<?php echo array_sum(range(1, 1000));").options(&["--memory", "16MiB"]).ran().printed("500500");
}

/// W13
#[test]
fn deep_calls_end_in_order() {
    if !WASM.serves("php") {
        return;
    }
    let deep = "<?php function f($n) { return $n ? 1 + f($n - 1) : 0; }\necho f(50_000);";
    Run::wasm("php", deep).ran().printed("50000");
    // Where it calls itself from within its own functions it has a stack to look after, and does.
    for code in [
        "<?php class A { function __toString() { return 'x' . new A; } }\necho new A;",
        "<?php function g($x) { return array_map('g', [$x]); }\ng(1);",
        "<?php function c($a, $b) { $two = [2, 1]; usort($two, 'c'); return 0; }\nc(1, 2);",
    ] {
        let ran = Run::wasm("php", code).options(&["--memory", "512MiB"]).ran();
        assert_eq!((ran.code, ran.text("status")), (Some(255), "completed"), "{code}: {:#}", ran.result);
        let message = ran.result["error"]["message"].as_str().unwrap_or_default();
        assert!(message.starts_with("Maximum call stack size of "), "{code}: {message}");
    }
}

/// What the host's PHP may be without, and so is no case of the conformance table.
#[test]
fn extensions() {
    if !WASM.serves("php") {
        return;
    }
    for (code, stdout) in [
        (
            "echo mb_strtoupper('größe'), mb_strlen('日本語'), mb_substr('日本語', 1, 1), mb_convert_case('élan vital', MB_CASE_TITLE);",
            "GRÖSSE3本Élan Vital",
        ),
        (
            "echo bin2hex(mb_convert_encoding('é', 'UTF-16LE', 'UTF-8')), mb_detect_encoding('日本', ['ASCII', 'UTF-8']), json_encode(mb_str_split('añb'), JSON_UNESCAPED_UNICODE);",
            "e900UTF-8[\"a\",\"ñ\",\"b\"]",
        ),
        (
            "echo bcadd('9999999999999999999999', '1'), ' ', bcpow('2', '100'), ' ', bcdiv('1', '3', 20), ' ', bcsqrt('2', 10);",
            "10000000000000000000000 1267650600228229401496703205376 0.33333333333333333333 1.4142135623",
        ),
        (
            "echo gregoriantojd(10, 11, 1970), ' ', cal_days_in_month(CAL_GREGORIAN, 2, 2024), ' ', easter_days(2024);",
            "2440871 29 10",
        ),
        (
            "<?php foreach (PhpToken::tokenize('<?php $a = 1;') as $t) echo $t->getTokenName(), ' ';",
            "T_OPEN_TAG T_VARIABLE T_WHITESPACE = T_WHITESPACE T_LNUMBER ; ",
        ),
        (
            "var_dump(filter_var('10.0.0.1', FILTER_VALIDATE_IP), filter_var('yes', FILTER_VALIDATE_BOOLEAN), ctype_digit('123'));",
            "string(8) \"10.0.0.1\"\nbool(true)\nbool(true)\n",
        ),
    ] {
        Run::wasm("php", code).ran().printed(stdout);
    }
}

/// `php://stdout` and its like are copies of the streams: a program can close them and go on.
#[test]
fn closing_a_copy_of_a_stream_leaves_the_stream() {
    if WASM.serves("php") {
        let code = "$copy = fopen('php://stdout', 'w'); fwrite($copy, 'a'); fclose($copy); echo 'b'; fclose(STDOUT); echo 'c';";
        let ran = Run::wasm("php", code).ran().exited(255);
        assert_eq!(ran.text("stdout"), "ab", "{:#}", ran.result);
    }
}
