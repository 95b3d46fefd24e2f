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
        assert_eq!(ran.result["error"]["message"], "Out of memory", "{code}");
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
    for code in [
        "<?php $a = []; for ($i = 0; $i < 20_000; $i++) $a = [$a];\necho strlen(serialize($a));",
        "<?php class A { function __toString() { return 'x' . new A; } }\necho new A;",
        "<?php function g($x) { return array_map('g', [$x]); }\ng(1);",
    ] {
        let ran = Run::wasm("php", code).options(&["--memory", "512MiB"]).ran();
        assert_eq!((ran.code, ran.text("status")), (Some(137), "crashed"), "{code}: {:#}", ran.result);
        assert_eq!(ran.result["error"]["message"], "Maximum call stack size reached", "{code}");
    }
}

/// Whole numbers have 32 bits in this build. When another has 64, this fails, and the documentation changes.
#[test]
fn integers() {
    if WASM.serves("php") {
        let code = "<?php var_dump(PHP_INT_SIZE, 2147483647 + 1);";
        Run::wasm("php", code).ran().printed("int(4)\nfloat(2147483648)\n");
    }
}
