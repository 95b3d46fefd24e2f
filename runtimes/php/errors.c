// The error that ended a program, from PHP's own words for it.

#include <main/php.h>

#include <stdlib.h>
#include <string.h>

#include "belljar.h"
#include "errors.h"
#include "missing.h"

static void (*show_error)(int type, zend_string *file, const uint32_t line, zend_string *message);

// Room of its own: memory may be what there is none of.
static struct {
    bool seen;
    int type;
    uint32_t line;
    char file[256];
    char words[16 * 1024];
} last;

static void remember(int type, zend_string *file, const uint32_t line, zend_string *message)
{
    if (type & (E_ERROR | E_CORE_ERROR | E_COMPILE_ERROR | E_USER_ERROR | E_RECOVERABLE_ERROR | E_PARSE)) {
        last.seen = true;
        last.type = type;
        last.line = line;
        snprintf(last.file, sizeof last.file, "%s", file != NULL ? ZSTR_VAL(file) : "");
        size_t length = ZSTR_LEN(message) < sizeof last.words ? ZSTR_LEN(message) : sizeof last.words - 1;
        memcpy(last.words, ZSTR_VAL(message), length);
        last.words[length] = 0;
    }
    show_error(type, file, line, message);
}

void watch_errors(void)
{
    show_error = zend_error_cb;
    zend_error_cb = remember;
}

// The program's own line: where it was thrown, or the innermost caller in the trace.
static int own_line(const char *file)
{
    if (strcmp(last.file, file) == 0) {
        return (int)last.line;
    }
    size_t length = strlen(file);
    for (const char *at = strstr(last.words, file); at != NULL; at = strstr(at + 1, file)) {
        if (at[length] == '(') {
            return atoi(at + length + 1);
        }
    }
    return 0;
}

void report_errors(const char *file)
{
    if (!last.seen) {
        return;
    }
    static const char out_of_memory[] = "Out of memory", uncaught[] = "Uncaught ", next[] = "\n\nNext ";
    int line = own_line(file);
    char *message = last.words;
    char *kind = last.type & E_PARSE ? "ParseError" : "FatalError";
    if (strncmp(message, out_of_memory, sizeof out_of_memory - 1) == 0) {
        kind = "MemoryError";
    } else if (strncmp(message, uncaught, sizeof uncaught - 1) == 0) {
        message += sizeof uncaught - 1;
        // What caused it comes first; the last `Next` is the one that nobody caught.
        for (char *at = strstr(message, next); at != NULL; at = strstr(message, next)) {
            message = at + sizeof next - 1;
        }
        // `Kind: message in /box/main.php:3`, `Kind in /box/main.php:3` without a message.
        message[strcspn(message, "\n")] = 0;
        char *place = NULL;
        for (char *at = strstr(message, " in /"); at != NULL; at = strstr(at + 1, " in /")) {
            place = at;
        }
        if (place != NULL) {
            *place = 0;
        }
        char *end = strstr(message, ": ");
        kind = message;
        message = end != NULL ? end + 2 : message + strlen(message);
        if (end != NULL) {
            *end = 0;
        }
    }
    report_missing(message);
    report_error(kind, message, line);
}
