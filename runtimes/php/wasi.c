// The functions that wasi.h declares: of one process, of one user, without sockets or other programs.

#include "wasi.h"

#include <errno.h>
#include <grp.h>
#include <netdb.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <ucontext.h>
#include <unistd.h>

#include "belljar.h"

// A chunk of PHP's heap. PHP expects the first page, where it keeps its books, to be zero, as the kernel's are.
void *belljar_chunk(size_t size, size_t alignment)
{
    void *chunk = NULL;
    if (posix_memalign(&chunk, alignment, size) != 0) {
        return NULL;
    }
    memset(chunk, 0, size < 4096 ? size : 4096);
    return chunk;
}

size_t belljar_random(void *bytes, size_t size)
{
    // WASI has no bound here, but its libc gives 256 bytes at most at once.
    for (size_t done = 0, part; done < size; done += part) {
        part = size - done < 256 ? size - done : 256;
        if (getentropy((char *)bytes + done, part) != 0) {
            return done;
        }
    }
    return size;
}

// WASI cannot duplicate a descriptor. PHP does it to open `php://stdin` and its like, and closes the copy in the end; a standard stream is
// closed when its last copy is.
static int copies[3];

int dup(int descriptor)
{
    if (descriptor < 0 || descriptor > 2) {
        errno = ENOTSUP;
        return -1;
    }
    copies[descriptor]++;
    return descriptor;
}

int belljar_close(int descriptor)
{
    if (descriptor >= 0 && descriptor <= 2 && copies[descriptor] > 0) {
        copies[descriptor]--;
        return 0;
    }
    return close(descriptor);
}

// Nobody else is there to hold a lock.
int flock(int descriptor, int operation)
{
    (void)descriptor, (void)operation;
    return 0;
}

int getdtablesize(void)
{
    return 1024;
}

int chown(const char *path, uid_t user, gid_t group)
{
    (void)path, (void)user, (void)group;
    errno = EPERM;
    return -1;
}

mode_t umask(mode_t mask)
{
    static mode_t now = 022;
    mode_t before = now;
    now = mask & 0777;
    return before;
}

uid_t getuid(void)
{
    return 0;
}

gid_t getgid(void)
{
    return 0;
}

int getgroups(int room, gid_t *groups)
{
    (void)room, (void)groups;
    return 0;
}

struct passwd *getpwuid(uid_t user)
{
    (void)user;
    return NULL;
}

struct passwd *getpwnam(const char *name)
{
    (void)name;
    return NULL;
}

struct group *getgrnam(const char *name)
{
    (void)name;
    return NULL;
}

pid_t getppid(void)
{
    return 0;
}

static int not_supported(void)
{
    errno = ENOTSUP;
    return -1;
}

FILE *popen(const char *command, const char *mode)
{
    (void)command, (void)mode;
    not_supported();
    return NULL;
}

int pclose(FILE *file)
{
    (void)file;
    return not_supported();
}

int socket(int domain, int type, int protocol)
{
    (void)domain, (void)type, (void)protocol;
    return not_supported();
}

int bind(int descriptor, const struct sockaddr *address, socklen_t length)
{
    (void)descriptor, (void)address, (void)length;
    return not_supported();
}

int connect(int descriptor, const struct sockaddr *address, socklen_t length)
{
    (void)descriptor, (void)address, (void)length;
    return not_supported();
}

int listen(int descriptor, int backlog)
{
    (void)descriptor, (void)backlog;
    return not_supported();
}

int setsockopt(int descriptor, int level, int name, const void *value, socklen_t length)
{
    (void)descriptor, (void)level, (void)name, (void)value, (void)length;
    return not_supported();
}

int getsockname(int descriptor, struct sockaddr *address, socklen_t *length)
{
    (void)descriptor, (void)address, (void)length;
    return not_supported();
}

int getpeername(int descriptor, struct sockaddr *address, socklen_t *length)
{
    (void)descriptor, (void)address, (void)length;
    return not_supported();
}

ssize_t sendto(int descriptor, const void *bytes, size_t length, int flags, const struct sockaddr *address, socklen_t address_length)
{
    (void)descriptor, (void)bytes, (void)length, (void)flags, (void)address, (void)address_length;
    return not_supported();
}

ssize_t recvfrom(int descriptor, void *bytes, size_t length, int flags, struct sockaddr *address, socklen_t *address_length)
{
    (void)descriptor, (void)bytes, (void)length, (void)flags, (void)address, (void)address_length;
    return not_supported();
}

// PHP says it in a warning that a program need not mind, so the host is told as well.
static struct hostent *no_host(void)
{
    report_unsupported("WebAssembly has no network");
    return NULL;
}

struct hostent *gethostbyname(const char *name)
{
    (void)name;
    return no_host();
}

struct hostent *gethostbyaddr(const void *address, socklen_t length, int family)
{
    (void)address, (void)length, (void)family;
    return no_host();
}

int gethostname(char *name, size_t room)
{
    return snprintf(name, room, "localhost") < (int)room ? 0 : -1;
}

void openlog(const char *name, int options, int facility)
{
    (void)name, (void)options, (void)facility;
}

void syslog(int priority, const char *format, ...)
{
    (void)priority, (void)format;
}

void closelog(void)
{
}

unsigned inet_addr(const char *text)
{
    (void)text;
    return (unsigned)-1;
}

int getcontext(ucontext_t *context)
{
    (void)context;
    return not_supported();
}

void makecontext(ucontext_t *context, void (*function)(void), int count, ...)
{
    (void)context, (void)function, (void)count;
    abort();
}

int swapcontext(ucontext_t *from, const ucontext_t *to)
{
    (void)from, (void)to;
    abort();
}
