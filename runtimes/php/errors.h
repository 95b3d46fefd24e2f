#pragma once

// Remembers the last error that ends a program.
void watch_errors(void);

// Tells the host of it, and whether another engine might do better. `file` is the program's own.
void report_errors(const char *file);
