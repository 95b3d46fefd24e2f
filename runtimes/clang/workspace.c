// Part of every program: it begins in the workspace, as programs do elsewhere.

#include <unistd.h>

__attribute__((constructor(101))) static void enter_workspace(void)
{
    chdir("/box");
}
