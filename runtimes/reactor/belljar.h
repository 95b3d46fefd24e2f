// What the reactors that are written in C share: the host's call, the job that it gives, and JSON for what it is told.
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum {
    REPORT_VALUE_JSON = 0,
    REPORT_VALUE_PRINTED = 1,
    REPORT_ERROR = 2,
    REPORT_UNSUPPORTED = 3,

    // What a caller reads of a run, and what `runtimes/README.md` promises at most.
    MOST_VALUE_JSON = 256 * 1024,
    MOST_VALUE_PRINTED = 64 * 1024,
    MOST_MESSAGE = 2000,
};

__attribute__((import_module("belljar"), import_name("report")))
void host_report(unsigned kind, const char *text, unsigned length);

// A program's circumstances. Its environment is the process's.
struct job {
    const char *file;
    int argument_count;
    char **arguments;
};

// Reads a job's JSON, which the host wrote; sets the environment. Whether there was memory for it.
bool read_job(struct job *job, const char *json);

// A text that grows up to a bound. Past it, or out of memory, it is `lost` and stays as it was.
struct text {
    char *bytes;
    size_t length, room, most;
    bool lost;
};

void add_bytes(struct text *text, const char *bytes, size_t length);
void add_word(struct text *text, const char *word);
// As JSON: a string, which the host reads as UTF-8, and a finite number, so that it reads back the same.
void add_json_string(struct text *text, const char *bytes, size_t length);
void add_json_number(struct text *text, double number);

// Whether it is UTF-8, as JSON wants it.
bool is_utf8(const char *bytes, size_t length);

// Tells the error that ended the program: the first line of the message, and a line of the program unless that is 0. Takes no memory,
// for want of which the program may have ended.
void report_error(const char *kind, const char *message, int line);
void report_unsupported(const char *sentence);
