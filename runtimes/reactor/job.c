// The job that the host gives a reactor. The host wrote it, so it is JSON, and has the members that `runtimes/README.md` names.

#include "belljar.h"

#include <stdlib.h>
#include <string.h>

static const char *skip_space(const char *at)
{
    return at + strspn(at, " \t\r\n");
}

static unsigned four_digits(const char *at)
{
    char digits[5] = {at[0], at[1], at[2], at[3], 0};
    return (unsigned)strtoul(digits, NULL, 16);
}

static char *add_character(char *to, unsigned character)
{
    if (character < 0x80) {
        *to++ = (char)character;
    } else if (character < 0x800) {
        *to++ = (char)(0xc0 | character >> 6);
        *to++ = (char)(0x80 | (character & 0x3f));
    } else if (character < 0x10000) {
        *to++ = (char)(0xe0 | character >> 12);
        *to++ = (char)(0x80 | (character >> 6 & 0x3f));
        *to++ = (char)(0x80 | (character & 0x3f));
    } else {
        *to++ = (char)(0xf0 | character >> 18);
        *to++ = (char)(0x80 | (character >> 12 & 0x3f));
        *to++ = (char)(0x80 | (character >> 6 & 0x3f));
        *to++ = (char)(0x80 | (character & 0x3f));
    }
    return to;
}

// Reads the string that starts at the quote `*place`, into memory of its own, and moves `*place` behind it. NULL when there is no memory.
static char *read_string(const char **place)
{
    const char *at = *place + 1, *end = at;
    while (*end != '"') {
        end += *end == '\\' ? 2 : 1;
    }
    *place = end + 1;
    // What is written is never longer than what stands for it.
    char *result = malloc((size_t)(end - at) + 1), *to = result;
    if (result == NULL) {
        return NULL;
    }
    while (at < end) {
        if (*at != '\\') {
            *to++ = *at++;
            continue;
        }
        char kind = at[1];
        at += 2;
        if (kind == 'u') {
            unsigned character = four_digits(at);
            at += 4;
            if (character >= 0xd800 && character < 0xdc00 && at[0] == '\\' && at[1] == 'u') {
                character = 0x10000 + ((character - 0xd800) << 10) + (four_digits(at + 2) - 0xdc00);
                at += 6;
            }
            to = add_character(to, character);
        } else {
            static const char kinds[] = "bfnrt", meanings[] = "\b\f\n\r\t";
            const char *found = strchr(kinds, kind);
            *to++ = found != NULL ? meanings[found - kinds] : kind;
        }
    }
    *to = 0;
    return result;
}

// Behind the value that starts here.
static const char *skip_value(const char *at)
{
    int depth = 0;
    do {
        at = skip_space(at);
        if (*at == '"') {
            for (at++; *at != '"'; at += *at == '\\' ? 2 : 1) {
            }
            at++;
        } else if (*at == '{' || *at == '[') {
            depth++;
            at++;
        } else if (*at == '}' || *at == ']') {
            depth--;
            at++;
        } else if (*at == ',' || *at == ':') {
            at++;
        } else {
            at += strcspn(at, ",:]} \t\r\n");
        }
    } while (depth > 0 && *at != 0);
    return at;
}

static bool read_arguments(struct job *job, const char **place)
{
    const char *at = skip_space(*place + 1);
    while (*at != ']') {
        char *argument = read_string(&at);
        char **grown = realloc(job->arguments, ((size_t)job->argument_count + 1) * sizeof *grown);
        if (argument == NULL || grown == NULL) {
            return false;
        }
        grown[job->argument_count++] = argument;
        job->arguments = grown;
        at = skip_space(at);
        at = skip_space(*at == ',' ? at + 1 : at);
    }
    *place = at + 1;
    return true;
}

static bool read_environment(const char **place)
{
    const char *at = skip_space(*place + 1);
    while (*at != '}') {
        char *name = read_string(&at);
        at = skip_space(skip_space(at) + 1);
        char *value = read_string(&at);
        if (name == NULL || value == NULL || setenv(name, value, 1) != 0) {
            return false;
        }
        free(name);
        free(value);
        at = skip_space(at);
        at = skip_space(*at == ',' ? at + 1 : at);
    }
    *place = at + 1;
    return true;
}

bool read_job(struct job *job, const char *json)
{
    *job = (struct job){0};
    const char *at = skip_space(skip_space(json) + 1);
    while (*at != '}') {
        char *name = read_string(&at);
        if (name == NULL) {
            return false;
        }
        at = skip_space(skip_space(at) + 1);
        bool read = true;
        if (strcmp(name, "file") == 0) {
            job->file = read_string(&at);
            read = job->file != NULL;
        } else if (strcmp(name, "args") == 0) {
            read = read_arguments(job, &at);
        } else if (strcmp(name, "env") == 0) {
            read = read_environment(&at);
        } else {
            at = skip_value(at);
        }
        free(name);
        if (!read) {
            return false;
        }
        at = skip_space(at);
        at = skip_space(*at == ',' ? at + 1 : at);
    }
    return job->file != NULL;
}
