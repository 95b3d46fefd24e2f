// What programs find in a C library and zig's wasi-libc has not, or has with a memory of the machine that made the snapshot.

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <wasi/api.h>

// The run's own processor time, from its host. The library's counts from its start, which was before the snapshot.
clock_t clock(void)
{
    __wasi_timestamp_t nanoseconds = 0;
    if (__wasi_clock_time_get(__WASI_CLOCKID_PROCESS_CPUTIME_ID, 1000, &nanoseconds) != 0) {
        return (clock_t)-1;
    }
    return (clock_t)(nanoseconds / (1000000000 / CLOCKS_PER_SEC));
}

// Makes a file whose name nobody has, in place of the six X at the end.
int mkstemp(char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    size_t length = strlen(name);
    if (length < 6) {
        errno = EINVAL;
        return -1;
    }
    for (int attempt = 0; attempt < 100; attempt++) {
        unsigned char random[6];
        if (getentropy(random, sizeof random) != 0) {
            return -1;
        }
        for (int i = 0; i < 6; i++) {
            name[length - 6 + (size_t)i] = letters[random[i] % (sizeof letters - 1)];
        }
        int descriptor = open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
        if (descriptor >= 0 || errno != EEXIST) {
            return descriptor;
        }
    }
    return -1;
}

FILE *tmpfile(void)
{
    char name[] = "/tmp/file_XXXXXX";
    int descriptor = mkstemp(name);
    if (descriptor < 0) {
        return NULL;
    }
    unlink(name);
    FILE *file = fdopen(descriptor, "w+");
    if (file == NULL) {
        close(descriptor);
    }
    return file;
}
