// The run's value: the rows of the last statement that gave any, as an array of objects. They are taken from SQLite's own trace, so they
// are the rows that the shell prints, whatever its mode.

#include "rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "belljar.h"
#include "hooks.h"
#include "sqlite3.h"

// The program's statement that runs now, and the one that the rows are of.
static sqlite3_stmt *running;
static bool is_new;

static struct text rows = {.most = MOST_VALUE_JSON};
static long long row_count;

// The names of the columns, as JSON strings, each once: `id`, then `id:1`, as SQLite itself tells columns of one name apart.
static struct text *names;
static int name_count;

void belljar_statement(struct sqlite3_stmt *statement)
{
    running = statement;
    is_new = true;
}

static void add_name(struct text *name, sqlite3_stmt *statement, int column)
{
    const char *own = sqlite3_column_name(statement, column);
    if (own == NULL) {
        name->lost = true;
        return;
    }
    int before = 0;
    for (int i = 0; i < column; i++) {
        const char *other = sqlite3_column_name(statement, i);
        before += other != NULL && strcmp(own, other) == 0;
    }
    char *unique = before > 0 ? sqlite3_mprintf("%s:%d", own, before) : sqlite3_mprintf("%s", own);
    if (unique == NULL) {
        name->lost = true;
        return;
    }
    add_json_string(name, unique, strlen(unique));
    sqlite3_free(unique);
}

static void begin_rows(sqlite3_stmt *statement)
{
    for (int i = 0; i < name_count; i++) {
        free(names[i].bytes);
    }
    free(names);
    name_count = sqlite3_column_count(statement);
    names = calloc((size_t)name_count, sizeof *names);
    rows.length = 0;
    rows.lost = names == NULL;
    row_count = 0;
    is_new = false;
    if (names == NULL) {
        name_count = 0;
        return;
    }
    for (int i = 0; i < name_count; i++) {
        names[i].most = MOST_VALUE_JSON;
        add_name(&names[i], statement, i);
        rows.lost |= names[i].lost;
    }
}

static void add_blob(const unsigned char *bytes, int length)
{
    add_word(&rows, "\"");
    for (int i = 0; i < length && !rows.lost; i++) {
        char digits[3];
        snprintf(digits, sizeof digits, "%02X", bytes[i]);
        add_word(&rows, digits);
    }
    add_word(&rows, "\"");
}

static void add_value(sqlite3_stmt *statement, int column)
{
    switch (sqlite3_column_type(statement, column)) {
    case SQLITE_INTEGER: {
        char digits[24];
        snprintf(digits, sizeof digits, "%lld", (long long)sqlite3_column_int64(statement, column));
        add_word(&rows, digits);
        return;
    }
    case SQLITE_FLOAT: {
        double number = sqlite3_column_double(statement, column);
        if (isfinite(number)) {
            add_json_number(&rows, number);
        } else {
            add_word(&rows, number > 0 ? "\"Inf\"" : "\"-Inf\"");
        }
        return;
    }
    case SQLITE_TEXT: {
        const char *text = (const char *)sqlite3_column_text(statement, column);
        add_json_string(&rows, text != NULL ? text : "", (size_t)sqlite3_column_bytes(statement, column));
        return;
    }
    case SQLITE_BLOB:
        add_blob(sqlite3_column_blob(statement, column), sqlite3_column_bytes(statement, column));
        return;
    default:
        add_word(&rows, "null");
    }
}

static int see_row(unsigned event, void *context, void *statement, void *detail)
{
    if (statement != running) {
        return 0;
    }
    if (is_new) {
        begin_rows(statement);
    }
    row_count++;
    add_word(&rows, row_count == 1 ? "[{" : ",{");
    for (int i = 0; i < name_count && !rows.lost; i++) {
        if (i > 0) {
            add_word(&rows, ",");
        }
        add_bytes(&rows, names[i].bytes, names[i].length);
        add_word(&rows, ":");
        add_value(statement, i);
    }
    add_word(&rows, "}");
    return 0;
}

static int watch(sqlite3 *connection, char **error, const struct sqlite3_api_routines *routines)
{
    return sqlite3_trace_v2(connection, SQLITE_TRACE_ROW, see_row, NULL);
}

void watch_connections(void)
{
    sqlite3_auto_extension((void (*)(void))watch);
}

void report_rows(void)
{
    if (row_count == 0) {
        return;
    }
    add_word(&rows, "]");
    if (!rows.lost) {
        host_report(REPORT_VALUE_JSON, rows.bytes, (unsigned)rows.length);
        return;
    }
    char words[128];
    int length = snprintf(words, sizeof words, "%lld rows, more than a result can hold (256 KiB); they are in the output", row_count);
    host_report(REPORT_VALUE_PRINTED, words, (unsigned)length);
}
