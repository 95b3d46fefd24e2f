#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv) {
    char line[64];
    printf("ready\n");
    sleep(1);
    while (fgets(line, sizeof line, stdin)) printf("got %s", line);
    for (int i = 1; i < argc; i++) printf("arg [%s]\n", argv[i]);
    fprintf(stderr, "oops\n");
    return 3;
}
