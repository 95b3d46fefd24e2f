// One complex type of blas.c: PREFIX, and TYPE of its two parts.

typedef struct {
    TYPE re, im;
} LOCAL(number);

#define NUMBER LOCAL(number)
#define SCALAR const void *
#define VALUE(scalar) (*(const NUMBER *)(scalar))
#define ADD(x, y) LOCAL(add)(x, y)
#define MULTIPLY(x, y) LOCAL(multiply)(x, y)
#define IS_ZERO(x) ((x).re == 0 && (x).im == 0)

static inline NUMBER LOCAL(add)(NUMBER x, NUMBER y)
{
    return (NUMBER){x.re + y.re, x.im + y.im};
}

static inline NUMBER LOCAL(multiply)(NUMBER x, NUMBER y)
{
    return (NUMBER){x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re};
}

static NUMBER LOCAL(sum)(CBLAS_INT count, const NUMBER *x, long x_step, const NUMBER *y, long y_step)
{
    NUMBER sum = {0, 0};
    for (CBLAS_INT i = 0; i < count; i++) {
        sum = ADD(sum, MULTIPLY(x[i * x_step], y[i * y_step]));
    }
    return sum;
}

void CBLAS(dotu_sub)(CBLAS_INT count, const void *x, CBLAS_INT x_step, const void *y, CBLAS_INT y_step, void *result)
{
    *(NUMBER *)result = LOCAL(sum)(count, x, x_step, y, y_step);
}

void CBLAS(dotc_sub)(CBLAS_INT count, const void *x, CBLAS_INT x_step, const void *y, CBLAS_INT y_step, void *result)
{
    const NUMBER *left = x, *right = y;
    NUMBER sum = {0, 0};
    for (CBLAS_INT i = 0; i < count; i++) {
        NUMBER conjugate = {left[i * x_step].re, -left[i * x_step].im};
        sum = ADD(sum, MULTIPLY(conjugate, right[i * y_step]));
    }
    *(NUMBER *)result = sum;
}

// Row by row of b, so that it is read in order.
static void LOCAL(product)(int rows, int columns, int terms, NUMBER alpha, const NUMBER *a, long a_row, long a_column, const NUMBER *b, long b_row,
                           long b_column, NUMBER beta, NUMBER *c, long c_row)
{
    for (int i = 0; i < rows; i++) {
        for (int j = 0; j < columns; j++) {
            c[i * c_row + j] = IS_ZERO(beta) ? beta : MULTIPLY(beta, c[i * c_row + j]);
        }
        for (int k = 0; k < terms; k++) {
            NUMBER factor = MULTIPLY(alpha, a[i * a_row + k * a_column]);
            for (int j = 0; j < columns; j++) {
                c[i * c_row + j] = ADD(c[i * c_row + j], MULTIPLY(factor, b[k * b_row + j * b_column]));
            }
        }
    }
}

#include "blas_common.h"

#undef NUMBER
#undef SCALAR
#undef VALUE
#undef ADD
#undef MULTIPLY
#undef IS_ZERO
#undef PREFIX
#undef TYPE
