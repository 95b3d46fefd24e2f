#pragma once

// Has every connection from here on tell of the rows that the program's statements give.
void watch_connections(void);

// Reports the rows of the last statement that gave any.
void report_rows(void);
