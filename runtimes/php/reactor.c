// PHP as a Belljar reactor: started once, snapshotted, then one program an instance. `runtimes/README.md` has the interface. What a
// program sees is what `php main.php` shows it (upstream's sapi/cli), from its arguments to its last words.

#include <main/php.h>
#include <main/SAPI.h>
#include <main/php_main.h>
#include <main/php_output.h>
#include <main/php_streams.h>
#include <main/php_variables.h>
#include <zend_exceptions.h>
#include <zend_stream.h>

#include <stdlib.h>
#include <unistd.h>

#include "belljar.h"
#include "errors.h"

// As the command line has it, and Debian's settings, which are what most hosts have. Time and memory are the engine's to limit. What
// cannot work is not there: a program that asks sees it, and one that does not ends where it would otherwise go wrong.
static const char SETTINGS[] =
    "display_errors=stderr\n"
    "log_errors=0\n"
    "html_errors=0\n"
    "register_argc_argv=1\n"
    "implicit_flush=1\n"
    "output_buffering=0\n"
    "max_execution_time=0\n"
    "max_input_time=-1\n"
    "memory_limit=-1\n"
    "error_reporting=22527\n"
    "short_open_tag=0\n"
    "variables_order=GPCS\n"
    "request_order=GP\n"
    "zend.max_allowed_stack_size=2M\n"
    "zend.assertions=-1\n"
    "zend.exception_ignore_args=1\n"
    "zend.exception_string_param_max_len=0\n"
    "date.timezone=UTC\n"
    "disable_functions=exec,shell_exec,system,passthru,popen,pclose,mail,fsockopen,pfsockopen,stream_socket_client,stream_socket_server,"
    "stream_socket_accept,stream_socket_pair,stream_socket_get_name,stream_socket_sendto,stream_socket_recvfrom,stream_socket_enable_crypto,"
    "stream_socket_shutdown,gethostbyname,gethostbynamel,gethostbyaddr,getservbyname,getservbyport,getprotobyname,getprotobynumber,"
    "openlog,syslog,closelog\n";

static struct job job;

static size_t write_output(const char *bytes, size_t length)
{
    size_t done = 0;
    while (done < length) {
        ssize_t written = write(STDOUT_FILENO, bytes + done, length - done);
        if (written <= 0) {
            EG(exit_status) = 255;
            php_handle_aborted_connection();
            break;
        }
        done += (size_t)written;
    }
    return done;
}

static void do_not_flush(void *context)
{
    (void)context;
}

static void register_variables(zval *variables)
{
    php_import_environment_variables(variables);
    php_register_variable("PHP_SELF", job.file, variables);
    php_register_variable("SCRIPT_NAME", job.file, variables);
    php_register_variable("SCRIPT_FILENAME", job.file, variables);
    php_register_variable("PATH_TRANSLATED", job.file, variables);
    php_register_variable("DOCUMENT_ROOT", "", variables);
}

static void log_message(const char *message, int level)
{
    (void)level;
    fprintf(stderr, "%s\n", message);
}

static char *read_no_cookies(void)
{
    return NULL;
}

static int handle_no_header(sapi_header_struct *header, sapi_header_op_enum operation, sapi_headers_struct *headers)
{
    (void)header, (void)operation, (void)headers;
    return 0;
}

static int send_no_headers(sapi_headers_struct *headers)
{
    (void)headers;
    return SAPI_HEADER_SENT_SUCCESSFULLY;
}

static void send_no_header(sapi_header_struct *header, void *context)
{
    (void)header, (void)context;
}

static int start(sapi_module_struct *module)
{
    return php_module_startup(module, NULL);
}

static sapi_module_struct command_line = {
    .name = "cli",
    .pretty_name = "Command Line Interface",
    .startup = start,
    .shutdown = php_module_shutdown_wrapper,
    .ub_write = write_output,
    .flush = do_not_flush,
    .sapi_error = php_error,
    .header_handler = handle_no_header,
    .send_headers = send_no_headers,
    .send_header = send_no_header,
    .read_cookies = read_no_cookies,
    .register_server_variables = register_variables,
    .log_message = log_message,
    .php_ini_ignore = 1,
    .php_ini_ignore_cwd = 1,
    .phpinfo_as_text = 1,
};

static bool begin_request(int count, char **arguments)
{
    SG(request_info).argc = count;
    SG(request_info).argv = arguments;
    SG(request_info).path_translated = (char *)job.file;
    SG(options) |= SAPI_OPTION_NO_CHDIR;
    if (php_request_startup() == FAILURE) {
        return false;
    }
    CG(skip_shebang) = 1;
    zend_is_auto_global(ZSTR_KNOWN(ZEND_STR_AUTOGLOBAL_SERVER));
    PG(during_request_startup) = 0;
    return true;
}

static void define_stream(const char *name, const char *place, const char *mode)
{
    php_stream *stream = php_stream_open_wrapper_ex(place, mode, 0, NULL, NULL);
    if (stream == NULL) {
        return;
    }
    // The descriptor is the process's: the program's end does not close it.
    stream->flags |= PHP_STREAM_FLAG_NO_RSCR_DTOR_CLOSE;
    zend_constant constant;
    php_stream_to_zval(stream, &constant.value);
    Z_CONSTANT_FLAGS(constant.value) = 0;
    constant.name = zend_string_init_interned(name, strlen(name), 0);
    zend_register_constant(&constant);
}

static void execute(const char *code, size_t length)
{
    zend_file_handle file;
    zend_stream_init_filename(&file, job.file);
    file.primary_script = 1;
    file.opened_path = zend_string_copy(file.filename);
    // The scanner reads some bytes past the end.
    file.buf = emalloc(length + ZEND_MMAP_AHEAD);
    memcpy(file.buf, code, length);
    memset(file.buf + length, 0, ZEND_MMAP_AHEAD);
    file.len = length;
    php_execute_script(&file);
    zend_destroy_file_handle(&file);
}

__attribute__((export_name("belljar_initialize"))) void belljar_initialize(void)
{
    // What the snapshotting host has in its environment must not reach the guest.
    clearenv();
    zend_signal_startup();
    sapi_startup(&command_line);
    // Not before: it clears them.
    command_line.ini_entries = SETTINGS;
    if (command_line.startup(&command_line) == FAILURE || chdir("/box") != 0) {
        abort();
    }
    watch_errors();
    // One request that does nothing: what the first one makes for all that follow is made.
    job.file = "/box/main.php";
    char *arguments[] = {"/box/main.php", NULL};
    if (!begin_request(1, arguments)) {
        abort();
    }
    static const char nothing[] = "<?php $nothing = []; foreach ($nothing as $none) { strlen($none); }";
    execute(nothing, sizeof nothing - 1);
    php_request_shutdown(NULL);
}

__attribute__((export_name("belljar_allocate"))) void *belljar_allocate(unsigned size)
{
    return malloc(size);
}

__attribute__((export_name("belljar_run"))) int belljar_run(const char *code, unsigned length, const char *json, unsigned json_length)
{
    (void)json_length;
    char **arguments = NULL;
    if (read_job(&job, json)) {
        arguments = malloc(((size_t)job.argument_count + 2) * sizeof *arguments);
    }
    if (arguments == NULL) {
        report_error("FatalError", "Out of memory", 0);
        return 255;
    }
    arguments[0] = (char *)job.file;
    for (int i = 0; i < job.argument_count; i++) {
        arguments[i + 1] = job.arguments[i];
    }
    arguments[job.argument_count + 1] = NULL;
    if (!begin_request(job.argument_count + 1, arguments)) {
        return 255;
    }
    zend_try {
        // In the program's own request: the first to open them gets the descriptors themselves, and closes them.
        define_stream("STDIN", "php://stdin", "rb");
        define_stream("STDOUT", "php://stdout", "wb");
        define_stream("STDERR", "php://stderr", "wb");
        execute(code, length);
    } zend_end_try();
    int status = EG(exit_status);
    php_request_shutdown(NULL);
    // Shutdown functions can still fail, and end it in another way.
    status = EG(exit_status) != 0 ? EG(exit_status) : status;
    report_errors(job.file);
    return status & 0xff;
}
