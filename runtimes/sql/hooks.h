// Read before SQLite's shell: where its words and its program's statements pass our way. `build.sh` has the places.
#pragma once

#include <stdarg.h>
#include <stdio.h>

struct sqlite3_stmt;

// A statement of the program is about to run, or, NULL, it has.
void belljar_statement(struct sqlite3_stmt *statement);

// A command that starts with a dot has failed, at this line of a script; the program's own is at depth 1.
void belljar_command_failed(int depth, long long line);

// What the shell writes. The first error on standard error is kept.
int belljar_fputs(const char *text, FILE *stream);
int belljar_fprintf(FILE *stream, const char *format, ...);
int belljar_vfprintf(FILE *stream, const char *format, va_list arguments);
// Knows `/dev/stdin`.
FILE *belljar_fopen(const char *name, const char *mode);
#ifdef SQLITE_SHELL
#define fputs belljar_fputs
#define fprintf belljar_fprintf
#define vfprintf belljar_vfprintf
#define fopen belljar_fopen
#endif

// Ends the run: there are no processes.
int system(const char *command);
