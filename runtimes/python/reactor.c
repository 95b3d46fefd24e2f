// CPython as a Belljar reactor: started once, snapshotted, then one program an instance. `runtimes/README.md` has the ABI.
//
// The program's frame is made here, in C, and not by the driver in Python: so no frame of ours is below the program's, neither in
// tracebacks nor for `sys._getframe` or `inspect.stack`, and its recursion limit is the one that python3 gives.

#define PY_SSIZE_T_CLEAN
#define Py_BUILD_CORE
#include <Python.h>
#include <pycore_ast.h>
#include <pycore_ceval.h>
#include <pycore_compile.h>
#include <pycore_moduleobject.h>
#include <pycore_parser.h>
#include <pycore_pyarena.h>
#include <pycore_runtime.h>

#include <signal.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <unistd.h>

#include "driver.h"

// The name that holds the value of the last expression: no program can spell it.
#define VALUE_NAME "<value>"

enum {
    REPORT_ERROR = 2,
    EXIT_FLUSH_FAILED = 120, // what python3 returns when it cannot write its last output
};

__attribute__((import_module("belljar"), import_name("report")))
void host_report(unsigned kind, const char *text, unsigned length);

// Extension modules beyond CPython's own. The plain runtime has none; NumPy's recipe links a stronger definition.
__attribute__((weak)) void belljar_add_modules(void) {}

void belljar_reset_clock(void);

static PyObject *driver;

// `report(kind, text)`: text is bytes, UTF-8.
static PyObject *report(PyObject *module, PyObject *arguments)
{
    unsigned kind;
    const char *text;
    Py_ssize_t length;
    if (!PyArg_ParseTuple(arguments, "Iy#", &kind, &text, &length)) {
        return NULL;
    }
    host_report(kind, text, (unsigned)length);
    Py_RETURN_NONE;
}

// When the program ends with an expression, make it an assignment, so that its value can be found.
static int keep_value(mod_ty tree, PyArena *arena)
{
    asdl_stmt_seq *body = tree->v.Module.body;
    Py_ssize_t count = asdl_seq_LEN(body);
    if (count == 0) {
        return 0;
    }
    stmt_ty last = asdl_seq_GET(body, count - 1);
    if (last->kind != Expr_kind) {
        return 0;
    }
    PyObject *name = PyUnicode_InternFromString(VALUE_NAME);
    if (name == NULL || _PyArena_AddPyObject(arena, name) < 0) {
        Py_XDECREF(name);
        return -1;
    }
    int line = last->lineno, column = last->col_offset, end_line = last->end_lineno, end_column = last->end_col_offset;
    asdl_expr_seq *targets = _Py_asdl_expr_seq_new(1, arena);
    expr_ty target = _PyAST_Name(name, Store, line, column, end_line, end_column, arena);
    if (targets == NULL || target == NULL) {
        return -1;
    }
    asdl_seq_SET(targets, 0, target);
    stmt_ty assignment = _PyAST_Assign(targets, last->v.Expr.value, NULL, line, column, end_line, end_column, arena);
    if (assignment == NULL) {
        return -1;
    }
    asdl_seq_SET(body, count - 1, assignment);
    return 0;
}

// Every `from __future__ import` of a cell holds for the cells after it.
static int futures;

// `compile(source, file) -> code`: like the built-in one, with top-level `await` allowed and the value of the last expression kept. On the parser's own tree: to go through `ast` objects takes longer than everything else in a short run.
static PyObject *compile_program(PyObject *module, PyObject *arguments)
{
    const char *source;
    Py_ssize_t length;
    PyObject *file;
    if (!PyArg_ParseTuple(arguments, "y#U", &source, &length, &file)) {
        return NULL;
    }
    if (strlen(source) != (size_t)length) {
        PyErr_SetString(PyExc_SyntaxError, "source code cannot contain null bytes");
        return NULL;
    }
    PyArena *arena = _PyArena_New();
    if (arena == NULL) {
        return NULL;
    }
    PyObject *code = NULL;
    PyCompilerFlags flags = _PyCompilerFlags_INIT;
    flags.cf_flags = PyCF_ALLOW_TOP_LEVEL_AWAIT | futures;
    mod_ty tree = _PyParser_ASTFromString(source, file, Py_file_input, &flags, arena);
    if (tree != NULL && keep_value(tree, arena) == 0) {
        code = (PyObject *)_PyAST_Compile(tree, file, &flags, -1, arena);
    }
    if (code != NULL) {
        futures |= ((PyCodeObject *)code)->co_flags & PyCF_MASK;
    }
    _PyArena_Free(arena);
    return code;
}

// `print_exception(exception)`: as the interpreter does for an uncaught one, with `sys.excepthook` and all.
static PyObject *print_exception(PyObject *module, PyObject *exception)
{
    PyErr_SetRaisedException(Py_NewRef(exception));
    PyErr_PrintEx(0);
    Py_RETURN_NONE;
}

static PyMethodDef host_functions[] = {
    {"report", report, METH_VARARGS, NULL},
    {"compile", compile_program, METH_VARARGS, NULL},
    {"print_exception", print_exception, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};
static struct PyModuleDef host_module = {PyModuleDef_HEAD_INIT, "_belljar_host", NULL, -1, host_functions};

static PyObject *make_host_module(void)
{
    return PyModule_Create(&host_module);
}

static _Noreturn void stop(const char *what)
{
    fprintf(stderr, "belljar: %s\n", what);
    if (PyErr_Occurred()) {
        PyErr_Print();
    }
    fflush(NULL);
    abort();
}

static void check(PyStatus status)
{
    if (PyStatus_Exception(status)) {
        stop(status.err_msg ? status.err_msg : "CPython does not start");
    }
}

static void start_python(void)
{
    // What the snapshotting host has in its environment must not reach the guest.
    clearenv();

    PyPreConfig before;
    PyPreConfig_InitPythonConfig(&before);
    before.utf8_mode = 1; // wasi-libc's only locale calls itself ASCII
    check(Py_PreInitialize(&before));

    PyImport_AppendInittab("_belljar_host", make_host_module);
    belljar_add_modules();
    PyImport_FrozenModules = belljar_modules;

    PyConfig config;
    PyConfig_InitPythonConfig(&config);
    config.parse_argv = 0;
    config.site_import = 0;     // it would look for .pth files and a user's directory; the driver does the useful rest
    config.write_bytecode = 0;  // a program's workspace holds what the program wrote
    config.buffered_stdio = 0;  // as `python3 -u`: what was printed before the deadline is seen
    config.pathconfig_warnings = 0;
    config.module_search_paths_set = 1;
    // One seed for all: a snapshot freezes it anyhow, and so the order of sets is the same in every run and on every machine.
    config.use_hash_seed = 1;
    config.hash_seed = 0;
    check(PyConfig_SetString(&config, &config.program_name, L"python3"));
    check(PyConfig_SetString(&config, &config.executable, L""));
    check(PyConfig_SetString(&config, &config.prefix, L"/"));
    check(PyConfig_SetString(&config, &config.exec_prefix, L"/"));
    check(PyConfig_SetString(&config, &config.base_prefix, L"/"));
    check(PyConfig_SetString(&config, &config.base_exec_prefix, L"/"));
    check(PyConfig_SetString(&config, &config.base_executable, L""));
    check(PyConfig_SetString(&config, &config.stdlib_dir, L"/lib/python3.13"));
    check(PyWideStringList_Append(&config.module_search_paths, L"/lib/python3.13"));
    check(PyWideStringList_Append(&config.module_search_paths, L"/lib/site-packages"));
    check(Py_InitializeFromConfig(&config));
    PyConfig_Clear(&config);
}

__attribute__((export_name("belljar_initialize"))) void belljar_initialize(void)
{
    start_python();
    driver = PyImport_ImportModule("_belljar");
    PyObject *done = driver ? PyObject_CallMethod(driver, "initialize", NULL) : NULL;
    if (done == NULL) {
        stop("the driver does not start");
    }
    Py_DECREF(done);
    if (chdir("/box") != 0) {
        stop("there is no /box");
    }
    fflush(NULL);
}

__attribute__((export_name("belljar_allocate"))) void *belljar_allocate(unsigned size)
{
    return malloc(size);
}

// Call the driver where there is nobody left to tell of a failure.
static PyObject *ask_driver(const char *method, PyObject *argument)
{
    PyObject *function = PyObject_GetAttrString(driver, method), *answer = NULL;
    if (function != NULL) {
        answer = argument ? PyObject_CallOneArg(function, argument) : PyObject_CallNoArgs(function);
        Py_DECREF(function);
    }
    PyErr_Clear();
    return answer;
}

// The value of the last expression, when there is one.
static void report_value(PyObject *namespace)
{
    PyObject *value = NULL;
    if (PyDict_PopString(namespace, VALUE_NAME, &value) == 1 && value != Py_None) {
        Py_XDECREF(ask_driver("report_value", value));
    }
    PyErr_Clear();
    // The last reference to it, perhaps. Dropped here and not in the driver, whose frame a warning would name.
    Py_XDECREF(value);
}

// An exception ended the program: say so. The exit code.
static int report_exception(PyObject *exception)
{
    PyObject *code = ask_driver("report_exception", exception);
    if (code != NULL) {
        return (int)PyLong_AsLong(code);
    }
    // Not even the driver's reserve of memory was enough, or the program took Python apart. In C: what it is, if that has a plain name.
    const char *kind = PyType_GetFlags(Py_TYPE(exception)) & Py_TPFLAGS_HEAPTYPE ? "Exception" : Py_TYPE(exception)->tp_name;
    char error[128];
    int length = snprintf(error, sizeof error, "{\"kind\":\"%.60s\",\"message\":\"\"}", kind);
    host_report(REPORT_ERROR, error, (unsigned)length);
    length = snprintf(error, sizeof error, "%.60s\n", kind);
    write(STDERR_FILENO, error, (size_t)length);
    return 1;
}

// What a program may count on at the end of the interpreter: exit handlers run, files that were left open are written, `__del__` is
// called. In the order of `Py_FinalizeEx`, without the interpreter's own end, which takes 100 ms. Whether all output could be written.
static int finalize(void)
{
    Py_XDECREF(ask_driver("exit_handlers", NULL));
    PyObject *modules = ask_driver("unload", NULL);
    PyGC_Collect();
    for (Py_ssize_t i = modules ? PyList_GET_SIZE(modules) : 0; i-- > 0;) {
        PyObject *module = NULL;
        if (PyWeakref_GetRef(PyList_GET_ITEM(modules, i), &module) == 1) {
            _PyModule_Clear(module);
            Py_DECREF(module);
        }
    }
    Py_XDECREF(modules);
    PyObject *flushed = ask_driver("flush", NULL);
    return flushed == Py_True;
}

__attribute__((export_name("belljar_run"))) int belljar_run(const char *code, unsigned code_length, const char *job, unsigned job_length)
{
    belljar_reset_clock();
    sqlite3_randomness(0, NULL); // SQLite seeds its generator anew when it is next used

    int exit_code = 0;
    PyObject *result = NULL;
    PyObject *program = PyObject_CallMethod(driver, "begin", "y#s#", code, (Py_ssize_t)code_length, job, (Py_ssize_t)job_length);
    if (program != NULL) {
        PyObject *namespace = Py_NewRef(PyModule_GetDict(PyImport_AddModule("__main__")));
        result = PyEval_EvalCode(program, namespace, namespace);
        if (result != NULL && PyCoro_CheckExact(result)) {
            Py_SETREF(result, PyObject_CallMethod(driver, "complete", "O", result));
        }
        if (result != NULL) {
            report_value(namespace);
        }
        Py_DECREF(namespace);
        Py_DECREF(program);
    }
    if (result == NULL) {
        PyObject *exception = PyErr_GetRaisedException();
        exit_code = report_exception(exception);
        Py_DECREF(exception);
    }
    Py_XDECREF(result);
    return finalize() || exit_code != 0 ? exit_code : EXIT_FLUSH_FAILED;
}

// What makes a cell end with a KeyboardInterrupt: words of memory, and the bits that a signal would set in each. The host sets them between two
// instructions, as a signal's handler would. None while there is nothing to interrupt.
static struct {
    unsigned count;
    struct {
        void *place;
        unsigned bits;
    } words[3];
} interrupt;

__attribute__((export_name("belljar_interrupt"))) void *belljar_interrupt(void)
{
    return &interrupt;
}

static void allow_interrupts(void)
{
    struct _signals_runtime_state *signals = &_PyRuntime.signals;
    interrupt.words[0].place = &signals->handlers[SIGINT].tripped;
    interrupt.words[0].bits = 1;
    interrupt.words[1].place = &signals->is_tripped;
    interrupt.words[1].bits = 1;
    interrupt.words[2].place = &PyThreadState_Get()->eval_breaker;
    interrupt.words[2].bits = _PY_SIGNALS_PENDING_BIT;
    *(volatile unsigned *)&interrupt.count = 3;
}

// One that came too late is not the next cell's.
static void forbid_interrupts(void)
{
    *(volatile unsigned *)&interrupt.count = 0;
    PyObject *exception = PyErr_GetRaisedException();
    if (PyErr_CheckSignals() != 0) {
        PyErr_Clear();
    }
    PyErr_SetRaisedException(exception);
}

// The value of a cell's last expression is also `_`.
static void keep_cell_value(PyObject *namespace)
{
    PyObject *value = NULL;
    if (PyDict_GetItemStringRef(namespace, VALUE_NAME, &value) == 1 && value != Py_None) {
        Py_XDECREF(ask_driver("keep_value", value));
    }
    PyErr_Clear();
    Py_XDECREF(value);
}

__attribute__((export_name("belljar_cell"))) int belljar_cell(char *code, unsigned code_length, char *job, unsigned job_length)
{
    static int started;
    if (!started) {
        started = 1;
        belljar_reset_clock();
        sqlite3_randomness(0, NULL);
    }
    int exit_code = 0;
    PyObject *result = NULL;
    PyObject *program = PyObject_CallMethod(driver, "begin_cell", "y#s#", code, (Py_ssize_t)code_length, job, (Py_ssize_t)job_length);
    free(code);
    free(job);
    if (program != NULL) {
        PyObject *namespace = Py_NewRef(PyModule_GetDict(PyImport_AddModule("__main__")));
        allow_interrupts();
        result = PyEval_EvalCode(program, namespace, namespace);
        if (result != NULL && PyCoro_CheckExact(result)) {
            Py_SETREF(result, PyObject_CallMethod(driver, "complete_cell", "O", result));
        }
        if (result != NULL) {
            keep_cell_value(namespace);
            report_value(namespace);
        }
        forbid_interrupts();
        Py_DECREF(namespace);
        Py_DECREF(program);
    }
    if (result == NULL) {
        PyObject *exception = PyErr_GetRaisedException();
        exit_code = report_exception(exception);
        Py_DECREF(exception);
    }
    Py_XDECREF(result);
    PyObject *flushed = ask_driver("end_cell", NULL);
    int written = flushed == Py_True;
    Py_XDECREF(flushed);
    return written || exit_code != 0 ? exit_code : EXIT_FLUSH_FAILED;
}
