// What CPython calls and zig's wasi-libc only declares.

#include <errno.h>
#include <netdb.h>
#include <stddef.h>
#include <sys/times.h>
#include <time.h>
#include <unistd.h>

// No network and no data base of names: every look-up finds nothing.
static int last_host_error;

int *__h_errno_location(void)
{
    return &last_host_error;
}

struct hostent *gethostbyaddr(const void *address, socklen_t length, int family)
{
    last_host_error = HOST_NOT_FOUND;
    return NULL;
}

struct hostent *gethostbyname(const char *name)
{
    last_host_error = HOST_NOT_FOUND;
    return NULL;
}

struct protoent *getprotobyname(const char *name)
{
    return NULL;
}

struct servent *getservbyname(const char *name, const char *protocol)
{
    return NULL;
}

struct servent *getservbyport(int port, const char *protocol)
{
    return NULL;
}

const char *hstrerror(int error)
{
    return "no network in WebAssembly";
}

// libwasi-emulated-process-clocks takes its zero when the module is initialised, that is on the machine that made the snapshot.
// Ours is the start of the run. One thread that never waits for another: its processor time is the time that passed.
static struct timespec start;

void belljar_reset_clock(void)
{
    clock_gettime(CLOCK_MONOTONIC, &start);
}

static clock_t since_start(clock_t ticks_per_second)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (now.tv_sec - start.tv_sec) * ticks_per_second + (now.tv_nsec - start.tv_nsec) / (1000000000 / ticks_per_second);
}

clock_t clock(void)
{
    return since_start(CLOCKS_PER_SEC);
}

clock_t times(struct tms *used)
{
    clock_t ticks = since_start(sysconf(_SC_CLK_TCK));
    *used = (struct tms){.tms_utime = ticks};
    return ticks;
}
