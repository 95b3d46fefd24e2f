/* As files.py, in C: also what the compiler can be made to read. The first argument is what it is told of the host, as JSON. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#if __has_include("/etc/passwd") || __has_include("../../../../../../etc/passwd") || __has_include(</etc/passwd>)
#define COMPILER_SEES_PASSWD "GOT /etc/passwd"
#else
#define COMPILER_SEES_PASSWD NULL
#endif
#if __has_include("/proc/self/environ") || __has_include(</proc/self/environ>) || __has_include("/proc/self/maps")
#define COMPILER_SEES_PROC "GOT /proc"
#else
#define COMPILER_SEES_PROC NULL
#endif
#if __has_include("/bin/sh") || __has_include("/usr/bin/gcc") || __has_include("/usr/include/x86_64-linux-gnu/bits/types.h")
#define COMPILER_SEES_USR "GOT /usr"
#else
#define COMPILER_SEES_USR NULL
#endif
#ifdef __has_embed
#if __has_embed("/etc/passwd") || __has_embed("../../../etc/passwd") || __has_embed("/proc/self/environ")
#define COMPILER_EMBEDS "GOT by #embed"
#endif
#endif
#ifndef COMPILER_EMBEDS
#define COMPILER_EMBEDS NULL
#endif

static char got[256];

static const char *fact(const char *facts, const char *name) {
    char key[64];
    snprintf(key, sizeof key, "\"%s\":\"", name);
    const char *start = strstr(facts, key);
    if (!start) {
        fprintf(stderr, "no fact `%s`\n", name);
        exit(2);
    }
    start += strlen(key);
    return strndup(start, strcspn(start, "\""));
}

static void tell(const char *name, const char *path, const char *result) {
    if (result) {
        printf("%s %s: GOT %.80s\n", name, path, result);
    } else {
        printf("%s %s: blocked %s\n", name, path, strerror(errno));
    }
}

static const char *content(int file) {
    if (file < 0) return NULL;
    ssize_t length = read(file, got, sizeof got - 1);
    int why = errno;
    close(file);
    errno = why;
    if (length < 0) return NULL;
    got[length] = 0;
    return got;
}

static const char *by_open(const char *path) { return content(open(path, O_RDONLY)); }

static const char *by_fopen(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file) return NULL;
    size_t length = fread(got, 1, sizeof got - 1, file);
    fclose(file);
    got[length] = 0;
    return length ? got : NULL;
}

static const char *by_listing(const char *path) {
    DIR *folder = opendir(path);
    if (!folder) return NULL;
    struct dirent *entry = readdir(folder);
    snprintf(got, sizeof got, "%s", entry ? entry->d_name : "an empty folder");
    closedir(folder);
    return got;
}

static const char *by_link(const char *path) {
    ssize_t length = readlink(path, got, sizeof got - 1);
    if (length < 0) return NULL;
    got[length] = 0;
    return got;
}

static const char *by_stat(const char *path) {
    struct stat status;
    if (stat(path, &status) && lstat(path, &status)) return NULL;
    snprintf(got, sizeof got, "%lld bytes", (long long)status.st_size);
    return got;
}

/* Opened and closed: had it been opened, that would be harm enough. */
static const char *by_writing(const char *path) {
    struct stat status;
    int is_new = lstat(path, &status);
    int file = open(path, O_WRONLY | O_APPEND | O_CREAT, 0600);
    if (file < 0) return NULL;
    close(file);
    if (is_new) unlink(path);
    return "open for writing";
}

static const char *by_truth(int failed) { return failed ? NULL : "done"; }

static const char *up(const char *start, const char *path) {
    static char climbing[4096];
    snprintf(climbing, sizeof climbing, "%s", start);
    for (int i = 0; i < 30; i++) strcat(climbing, "../");
    strcat(climbing, path + (path[0] == '/'));
    return climbing;
}

static void expect_mine(const char *path) {
    const char *text = by_fopen(path);
    if (!text || strcmp(text, "mine")) {
        fprintf(stderr, "control: `%s` is not readable\n", path);
        exit(3);
    }
}

int main(int argc, char **argv) {
    const char *directory = fact(argv[1], "directory"), *secret = fact(argv[1], "secret_file"), *canary = fact(argv[1], "canary");

    /* The control: the same calls work where they should. */
    FILE *own = fopen("/box/own", "w");
    fputs("mine", own);
    fclose(own);
    if (symlink("own", "/box/link")) perror("control: symlink");
    expect_mine("/box/own");
    expect_mine("own");
    expect_mine("/box/../box/./own");
    expect_mine("/box/link");

    errno = ENOENT;
    tell("the compiler", "passwd", COMPILER_SEES_PASSWD);
    tell("the compiler", "proc", COMPILER_SEES_PROC);
    tell("the compiler", "usr", COMPILER_SEES_USR);
    tell("the compiler", "embed", COMPILER_EMBEDS);

    const char *paths[] = {"/etc/passwd", "/etc/shadow", "/etc/hostname", "/root", "/home", "/bin/sh", "/usr/bin/gcc", "/sys/kernel", "/run",
                           "/proc/self/environ", "/proc/self/maps", "/proc/self/mem", "/proc/1/cmdline", "/proc/self/root/etc/passwd",
                           "/proc/self/fd/0", "/dev/mem", "/dev/kmsg", "/dev/tty", "/dev/ptmx", "/dev/fd/7", "/dev/shm/x", secret, canary, directory};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        const char *path = paths[i];
        tell("open", path, by_open(path));
        tell("fopen", path, by_fopen(path));
        tell("list", path, by_listing(path));
        tell("readlink", path, by_link(path));
        tell("stat", path, by_stat(path));
        tell("from below", path, by_open(up("", path)));
        tell("from the workspace", path, by_open(up("/box/", path)));
        tell("through a file", path, by_open(up("/box/own/", path)));
        tell("through nothing", path, by_open(up("/box/missing/", path)));
        char doubled[512];
        snprintf(doubled, sizeof doubled, "//%s", path);
        tell("two roots", path, by_open(doubled));
        char link[64];
        snprintf(link, sizeof link, "/box/link%d", (int)i);
        if (symlink(path, link) == 0) {
            tell("a link to", path, by_open(link));
            unlink(link);
        }
        if (symlink(up("", path), link) == 0) {
            tell("a link up to", path, by_open(link));
            unlink(link);
        }
    }

    char new[512];
    snprintf(new, sizeof new, "%s/new", directory);
    const char *targets[] = {"/etc/passwd", canary, new, "/new", "/lib/new", "/dev/new", "/usr/new", "/usr/include/stdio.h"};
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        tell("write", targets[i], by_writing(targets[i]));
        tell("write from below", targets[i], by_writing(up("", targets[i])));
    }
    tell("rename in", secret, by_truth(rename(secret, "/box/stolen")));
    tell("rename out", new, by_truth(rename("/box/own", new)));
    tell("a hard link to", secret, by_truth(link(secret, "/box/hard")));
    tell("a hard link at", new, by_truth(link("/box/own", new)));
    tell("a link at", new, by_truth(symlink("/box/own", new)));
    tell("make a folder", new, by_truth(mkdir(new, 0700)));
    tell("enter", directory, by_truth(chdir(directory)));
    tell("enter", "/proc", by_truth(chdir("/proc")));

    /* By folders that are open already, and by numbers that nobody gave. */
    int root = open("/", O_RDONLY | O_DIRECTORY), box = open("/box", O_RDONLY | O_DIRECTORY);
    const char *relative[] = {"etc/passwd", "../etc/passwd", "../../../../../../etc/passwd", secret + 1, secret, "proc/self/environ"};
    for (size_t i = 0; i < sizeof relative / sizeof *relative; i++) {
        tell("from /", relative[i], content(openat(root, relative[i], O_RDONLY)));
        tell("from /box", relative[i], content(openat(box, relative[i], O_RDONLY)));
    }
    int reached = 0;
    for (int number = 3; number < 64; number++) {
        for (size_t i = 0; i < sizeof relative / sizeof *relative; i++) {
            int file = openat(number, relative[i], O_RDONLY);
            if (file >= 0) {
                printf("descriptor %d: GOT %s\n", number, relative[i]);
                close(file);
                reached++;
            }
        }
    }
    errno = ENOENT;
    tell("by any descriptor", "", reached ? "something" : NULL);
    tell("secret in the environment", "", getenv("BELLJAR_TEST_SECRET"));
    return 0;
}
