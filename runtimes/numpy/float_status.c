// The floating-point status that programs set and read themselves; see include/fenv.h. These are all the functions of the C library's
// own file, which do nothing: with one of them missing here, that file would be linked too, and clash.

#include <fenv.h>

static int status;

int feclearexcept(int flags)
{
    status &= ~flags;
    return 0;
}

int feraiseexcept(int flags)
{
    status |= flags;
    return 0;
}

int fetestexcept(int flags)
{
    return status & flags;
}

int fegetround(void)
{
    return FE_TONEAREST;
}

int __fesetround(int direction)
{
    return 0;
}

int fegetenv(fenv_t *environment)
{
    environment->__cw = status;
    return 0;
}

int fesetenv(const fenv_t *environment)
{
    status = environment == FE_DFL_ENV ? 0 : (int)environment->__cw;
    return 0;
}
