// SQLite's own shell as a Belljar reactor. `runtimes/README.md` has the interface. A program is a script that the shell reads, with its
// commands that start with a dot; what it prints, and how, is the shell's, as natively.

#include <dirent.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "belljar.h"
#include "hooks.h"
#include "rows.h"
#include "sqlite3.h"

int sqlite_shell_main(int argument_count, char **arguments);

static struct job job;

// The first error that the shell told of.
static struct {
    char words[MOST_MESSAGE + 200];
    int line;
    bool done;
} failure;

// Whether the script's database is one with a write-ahead log, which takes shared memory.
static bool has_log;

// What SQLite's shell says of things that another engine may have.
static const struct {
    const char *words, *reason;
} beyond[] = {
    {"pipes are not supported in this OS", "WebAssembly cannot start processes"},
    {"WebAssembly cannot start processes", "WebAssembly cannot start processes"},
    {"unknown command or invalid arguments:  \"load\"", "WebAssembly cannot load extensions"},
};

static void keep_words(const char *text)
{
    static const char *const starts[] = {"Parse error ", "Runtime error ", "Error"};
    for (int i = 0; i < 3 && failure.words[0] == 0; i++) {
        if (strncmp(text, starts[i], strlen(starts[i])) == 0) {
            snprintf(failure.words, sizeof failure.words, "%s", text);
        }
    }
}

int belljar_fputs(const char *text, FILE *stream)
{
    if (stream == stderr) {
        keep_words(text);
    }
    return fputs(text, stream);
}

int belljar_vfprintf(FILE *stream, const char *format, va_list arguments)
{
    if (stream == stderr && failure.words[0] == 0) {
        char words[sizeof failure.words];
        va_list again;
        va_copy(again, arguments);
        vsnprintf(words, sizeof words, format, again);
        va_end(again);
        keep_words(words);
    }
    return vfprintf(stream, format, arguments);
}

int belljar_fprintf(FILE *stream, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = belljar_vfprintf(stream, format, arguments);
    va_end(arguments);
    return length;
}

void belljar_command_failed(int depth, long long line)
{
    if (depth == 1 && failure.line == 0) {
        failure.line = (int)line;
    }
}

FILE *belljar_fopen(const char *name, const char *mode)
{
    return strcmp(name, "/dev/stdin") == 0 && mode[0] == 'r' ? stdin : fopen(name, mode);
}

// An error, and the end: the shell would go on, and what it does from there on would not be what the program wanted.
int system(const char *command)
{
    if (command == NULL) {
        return 0;
    }
    belljar_fputs("Error: WebAssembly cannot start processes\n", stderr);
    exit(EXIT_FAILURE);
}

// `Parse error near line 2: no such table: t (1)` is `no such table: t`, and 2.
static void tell_failure(void)
{
    if (failure.done || failure.words[0] == 0) {
        return;
    }
    failure.done = true;
    const char *near = " near line ";
    char *message = failure.words, *place = strstr(message, near), *colon = strstr(message, ": ");
    failure.words[strcspn(failure.words, "\r\n")] = 0;
    if (place != NULL && colon != NULL && place < colon) {
        failure.line = atoi(place + strlen(near));
    }
    message = colon != NULL ? colon + 2 : message;
    // At the end is the result's code, for whoever knows them by heart.
    char *code = strrchr(message, '(');
    if (code != NULL && code > message && code[-1] == ' ' && code[1] != ')' && code[1 + strspn(code + 1, "0123456789")] == ')') {
        code[-1] = 0;
    }
    report_error("SQLError", message, failure.line);
    for (size_t i = 0; i < sizeof beyond / sizeof *beyond; i++) {
        if (strstr(message, beyond[i].words) != NULL) {
            report_unsupported(beyond[i].reason);
        }
    }
    if (has_log && strstr(message, "unable to open database file") != NULL) {
        report_unsupported("WebAssembly cannot open a database with a write-ahead log");
    }
}

// SQLite asks a device that is not here, and else takes the time.
static int random_bytes(sqlite3_vfs *vfs, int count, char *bytes)
{
    for (int done = 0; done < count; done += 256) {
        size_t part = count - done < 256 ? (size_t)(count - done) : 256;
        if (getentropy(bytes + done, part) != 0) {
            return done;
        }
    }
    return count;
}

// Called by the shell in place of `sqlite3_initialize`.
void belljar_start_sqlite(void)
{
    sqlite3_initialize();
    sqlite3_vfs_find(NULL)->xRandomness = random_bytes;
    watch_connections();
}

// The one file of the workspace that is a database, else a database in memory.
static const char *choose_database(void)
{
    // Behind the magic words are the size of a page, and twice how it is written: 2 with a log.
    enum { HEAD = 20, WRITING = 18, WITH_LOG = 2 };
    static const char magic[16] = "SQLite format 3";
    static char found[512];
    DIR *box = opendir(".");
    struct dirent *entry;
    int count = 0;
    while (box != NULL && (entry = readdir(box)) != NULL) {
        char head[HEAD] = {0};
        FILE *file = strlen(entry->d_name) < sizeof found - 6 && entry->d_type == DT_REG ? fopen(entry->d_name, "rb") : NULL;
        if (file == NULL) {
            continue;
        }
        setvbuf(file, NULL, _IONBF, 0);
        if (fread(head, 1, sizeof head, file) == sizeof head && memcmp(head, magic, sizeof magic) == 0) {
            count++;
            has_log = head[WRITING] == WITH_LOG;
            // With a folder: no option of the shell, whatever its name.
            snprintf(found, sizeof found, "/box/%s", entry->d_name);
        }
        fclose(file);
    }
    if (box != NULL) {
        closedir(box);
    }
    return count == 1 ? found : ":memory:";
}

__attribute__((export_name("belljar_initialize"))) void belljar_initialize(void)
{
    // What the snapshotting host has in its environment must not reach the guest.
    clearenv();
    if (chdir("/box") != 0) {
        abort();
    }
}

__attribute__((export_name("belljar_allocate"))) void *belljar_allocate(unsigned size)
{
    return malloc(size);
}

__attribute__((export_name("belljar_run"))) int belljar_run(const char *code, unsigned code_length, const char *description, unsigned length)
{
    char read[512];
    // Also where the shell ends the run in the middle.
    if (!read_job(&job, description) || atexit(tell_failure) != 0) {
        report_error("SQLError", "out of memory", 0);
        return EXIT_FAILURE;
    }
    snprintf(read, sizeof read, ".read %s", job.file);
    char *own[] = {"sqlite3", "-batch", "-bail", "-header", "-column", (char *)choose_database(), read};
    int own_count = sizeof own / sizeof *own;
    // The caller's own are more of what the shell is told, as natively.
    char *arguments[own_count + job.argument_count + 1];
    memcpy(arguments, own, sizeof own);
    memcpy(arguments + own_count, job.arguments, (size_t)job.argument_count * sizeof *arguments);
    arguments[own_count + job.argument_count] = NULL;
    int status = sqlite_shell_main(own_count + job.argument_count, arguments);
    if (status == 0) {
        report_rows();
    } else {
        tell_failure();
    }
    fflush(NULL);
    return status;
}
