// JSON for the host, written into memory that is bounded.

#include "belljar.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void add_bytes(struct text *text, const char *bytes, size_t length)
{
    if (text->lost || length > text->most - text->length) {
        text->lost = true;
        return;
    }
    if (text->length + length > text->room) {
        size_t room = text->room * 2 > text->length + length ? text->room * 2 : text->length + length + 256;
        char *grown = realloc(text->bytes, room);
        if (grown == NULL) {
            text->lost = true;
            return;
        }
        text->bytes = grown;
        text->room = room;
    }
    memcpy(text->bytes + text->length, bytes, length);
    text->length += length;
}

void add_word(struct text *text, const char *word)
{
    add_bytes(text, word, strlen(word));
}

// What stands for a byte inside a JSON string, or NULL where it stands for itself.
static const char *escape(char byte, char room[8])
{
    switch (byte) {
    case '"':
        return "\\\"";
    case '\\':
        return "\\\\";
    case '\n':
        return "\\n";
    }
    if ((unsigned char)byte >= ' ') {
        return NULL;
    }
    snprintf(room, 8, "\\u%04x", byte);
    return room;
}

void add_json_string(struct text *text, const char *bytes, size_t length)
{
    add_bytes(text, "\"", 1);
    size_t start = 0;
    for (size_t i = 0; i < length && !text->lost; i++) {
        char room[8];
        const char *instead = escape(bytes[i], room);
        if (instead != NULL) {
            add_bytes(text, bytes + start, i - start);
            add_word(text, instead);
            start = i + 1;
        }
    }
    add_bytes(text, bytes + start, length - start);
    add_bytes(text, "\"", 1);
}

void add_json_number(struct text *text, double number)
{
    char digits[40];
    for (int precision = 15; precision <= 17; precision++) {
        snprintf(digits, sizeof digits - 2, "%.*g", precision, number);
        if (strtod(digits, NULL) == number) {
            break;
        }
    }
    // 1.0 is not the integer 1.
    if (strpbrk(digits, ".e") == NULL) {
        strcat(digits, ".0");
    }
    add_word(text, digits);
}

bool is_utf8(const char *bytes, size_t length)
{
    const unsigned char *at = (const unsigned char *)bytes, *end = at + length;
    while (at < end) {
        unsigned lead = *at++;
        if (lead < 0x80) {
            continue;
        }
        int more = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : 1;
        if (lead < 0xc2 || lead > 0xf4 || end - at < more) {
            return false;
        }
        // Not longer than needed, no half of a UTF-16 pair, not past the last character.
        if ((lead == 0xe0 && *at < 0xa0) || (lead == 0xed && *at > 0x9f) || (lead == 0xf0 && *at < 0x90) || (lead == 0xf4 && *at > 0x8f)) {
            return false;
        }
        for (; more > 0; more--) {
            if ((*at++ & 0xc0) != 0x80) {
                return false;
            }
        }
    }
    return true;
}

void report_error(const char *kind, const char *message, int line)
{
    // Each byte of the message as an escape, in the worst case, and the rest.
    static char room[MOST_MESSAGE * 6 + 256];
    struct text text = {.bytes = room, .room = sizeof room, .most = sizeof room};
    size_t length = strcspn(message, "\r\n");
    if (length > MOST_MESSAGE) {
        length = MOST_MESSAGE;
        // Not in the middle of a character.
        while (length > 0 && (message[length] & 0xc0) == 0x80) {
            length--;
        }
    }
    add_word(&text, "{\"kind\":");
    add_json_string(&text, kind, strlen(kind));
    add_word(&text, ",\"message\":");
    add_json_string(&text, message, length);
    if (line > 0) {
        char number[24];
        snprintf(number, sizeof number, ",\"line\":%d", line);
        add_word(&text, number);
    }
    add_word(&text, "}");
    host_report(REPORT_ERROR, text.bytes, (unsigned)text.length);
}

void report_unsupported(const char *sentence)
{
    host_report(REPORT_UNSUPPORTED, sentence, (unsigned)strlen(sentence));
}
