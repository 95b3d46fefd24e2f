#pragma once

// Tells the host why another engine might do better, if the message of an error says that something is missing that PHP has elsewhere.
void report_missing(const char *message);
