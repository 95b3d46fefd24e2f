// Locks for a program that has one thread. The C library's own have their condition the wrong way round: they refuse the second lock of a
// recursive mutex and grant that of a plain one. A wait that could never end is an error instead.

#include <errno.h>
#include <limits.h>
#include <pthread.h>

static int *count(pthread_mutex_t *mutex)
{
    return &mutex->__u.__i[5];
}

static int take(pthread_mutex_t *mutex, int taken)
{
    int recursive = (mutex->__u.__i[0] & 3) == PTHREAD_MUTEX_RECURSIVE;
    if (*count(mutex) && !recursive) {
        return taken;
    }
    if (*count(mutex) == INT_MAX) {
        return EAGAIN;
    }
    ++*count(mutex);
    return 0;
}

int pthread_mutex_lock(pthread_mutex_t *mutex)
{
    return take(mutex, EDEADLK);
}

int pthread_mutex_trylock(pthread_mutex_t *mutex)
{
    return take(mutex, EBUSY);
}

int pthread_mutex_timedlock(pthread_mutex_t *restrict mutex, const struct timespec *restrict until)
{
    (void)until;
    return take(mutex, EDEADLK);
}

int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
    if (!*count(mutex)) {
        return EPERM;
    }
    --*count(mutex);
    return 0;
}
