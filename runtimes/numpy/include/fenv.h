// Found before the C library's header of this name, which names no flags: WebAssembly has no floating-point status. NumPy uses it for
// signals of its own too, and would not hear them: `np.linalg.inv` of a singular matrix would return numbers, an integer division
// by zero pass in silence. So there is a status, in float_status.c. What a processor would flag, 1.0 / 0.0, stays unseen.

#pragma once
#include_next <fenv.h>

#undef FE_ALL_EXCEPT
#define FE_INVALID 1
#define FE_DIVBYZERO 4
#define FE_OVERFLOW 8
#define FE_UNDERFLOW 16
#define FE_ALL_EXCEPT (FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW | FE_UNDERFLOW)
