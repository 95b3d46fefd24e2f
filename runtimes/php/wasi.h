// Read before every source of PHP: what it takes for granted of a Unix and zig's wasi-libc does not have. The functions are in wasi.c.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/types.h>

// PHP's own words for a platform with 64-bit integers, whatever its pointers have.
#define ZEND_ENABLE_ZVAL_LONG64 1

// Signals there are none to keep masks of.
#define sigjmp_buf jmp_buf
#define sigsetjmp(buffer, mask) setjmp(buffer)
#define siglongjmp(buffer, value) longjmp(buffer, value)

// Of sockets there are none, so there are no local ones either.
#undef AF_UNIX
#ifndef SO_ERROR
#define SO_ERROR 4
#endif
#ifndef SOL_IP
#define SOL_IP 0
#endif
#ifndef MSG_OOB
#define MSG_OOB 1
#endif
#ifndef POLLPRI
#define POLLPRI 2
#endif

struct sockaddr;

int socket(int domain, int type, int protocol);
int bind(int descriptor, const struct sockaddr *address, socklen_t length);
int connect(int descriptor, const struct sockaddr *address, socklen_t length);
int listen(int descriptor, int backlog);
int setsockopt(int descriptor, int level, int name, const void *value, socklen_t length);
int getsockname(int descriptor, struct sockaddr *address, socklen_t *length);
int getpeername(int descriptor, struct sockaddr *address, socklen_t *length);
ssize_t sendto(int descriptor, const void *bytes, size_t length, int flags, const struct sockaddr *address, socklen_t address_length);
ssize_t recvfrom(int descriptor, void *bytes, size_t length, int flags, struct sockaddr *address, socklen_t *address_length);
unsigned inet_addr(const char *text);

FILE *popen(const char *command, const char *mode);
int pclose(FILE *file);

int dup(int descriptor);
int flock(int descriptor, int operation);
int getdtablesize(void);
int mkstemp(char *name);
int chown(const char *path, uid_t user, gid_t group);
mode_t umask(mode_t mask);
uid_t getuid(void);
gid_t getgid(void);
int getgroups(int room, gid_t *groups);
pid_t getppid(void);

// For the edits that build.sh makes in PHP's sources.
void *belljar_chunk(size_t size, size_t alignment);
size_t belljar_random(void *bytes, size_t size);
int belljar_close(int descriptor);
