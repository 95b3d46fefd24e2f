// The part of BLAS that NumPy calls, for `@`, `dot`, `inner`, `vdot` and what is made of them. Small rather than complete: the matrix product
// of real numbers uses registers and cache as it should (about eight times NumPy's own loops), the rest is plain.
//
// NumPy passes CblasNoTrans or CblasTrans, never a conjugate.

#include <stdlib.h>

#define CBLAS_INT int
enum { ROW_MAJOR = 101, TRANSPOSED = 112 };

#define JOIN_(a, b, c) a##b##c
#define JOIN(a, b, c) JOIN_(a, b, c)
#define CBLAS(name) JOIN(cblas_, PREFIX, name)
#define LOCAL(name) JOIN(PREFIX, _, name)

// Rows and 16-byte vectors of a tile, and how many columns and terms of a product are packed at a time: 1 MiB of doubles.
enum { TILE_ROWS = 4, TILE_VECTORS = 2, BLOCK_COLUMNS = 512, BLOCK_TERMS = 256 };

#define PREFIX d
#define TYPE double
#include "blas_real.h"

#define PREFIX s
#define TYPE float
#include "blas_real.h"

#define PREFIX z
#define TYPE double
#include "blas_complex.h"

#define PREFIX c
#define TYPE float
#include "blas_complex.h"
